// One topic as trec_eval 9 and 10 look at it. A retrieved document is worth its label, -1 where it is not in the pool and
// -2 where it is but was not judged; the level from which on a document is relevant may be 0 or less, and then those
// count in a ranking as relevant, while the counts of relevant documents know judged ones only.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "measures/trec_eval.hpp"

namespace pippin {

using Position = std::int64_t;
using Count = std::int64_t;

inline double real(Count count) { return static_cast<double>(count); }

// A cast of C on a processor that has one result for all that does not fit.
template <typename Whole>
Whole truncated(double value) {
    constexpr auto least = std::numeric_limits<Whole>::min();
    return value >= static_cast<double>(least) && value < -static_cast<double>(least) ? static_cast<Whole>(value) : least;
}

inline std::int32_t trec_label_at(const RankedList& list, Position i) {
    const std::int32_t label = list.labels[static_cast<std::size_t>(i)];
    return label >= 0 ? label : label == kUnjudged ? -1 : -2;
}
inline bool relevant_at(const RankedList& list, const Rules& rules, Position i) {
    return rules.relevant(trec_label_at(list, i));
}
inline bool judged_relevant(const Rules& rules, std::int32_t label) { return label >= 0 && rules.relevant(label); }
inline bool judged_nonrelevant(const Rules& rules, std::int32_t label) { return label >= 0 && !rules.relevant(label); }

// Judged relevant documents among the first retrieved ones, and among all judged ones.
inline Count retrieved_relevant(const RankedList& list, const Rules& rules, Position depth) {
    return std::count_if(list.labels.begin(), list.labels.begin() + std::min(depth, list.size()),
                         [&](std::int32_t label) { return judged_relevant(rules, label); });
}
inline Count judged_relevant(const RankedList& list, const Rules& rules) {
    return std::count_if(list.pool.begin(), list.pool.end(), [&](std::int32_t label) { return judged_relevant(rules, label); });
}

}  // namespace pippin
