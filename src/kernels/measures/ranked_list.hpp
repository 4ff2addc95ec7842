// Shared computations on a ranked list: groups of ties, and numbers of relevant documents by position.
#pragma once

#include <algorithm>

#include "measures/measures.hpp"

namespace pippin {

using Position = std::int64_t;

// End of the group of tied documents that starts at `first`.
inline Position group_end(const RankedList& list, Position first) {
    Position end = first + 1;
    if (!list.tied.empty()) {
        while (end < list.size() && list.tied[static_cast<std::size_t>(end)]) ++end;
    }
    return end;
}

inline std::int32_t label_at(const RankedList& list, Position i) { return list.labels[static_cast<std::size_t>(i)]; }

// Relevant documents in [first, last).
inline Position count_relevant(const RankedList& list, const Rules& rules, Position first, Position last) {
    Position count = 0;
    for (Position i = first; i < last; ++i) count += rules.relevant(label_at(list, i));
    return count;
}

// Relevant documents among all judged ones.
inline Position pool_relevant(const RankedList& list, const Rules& rules) {
    return std::count_if(list.pool.begin(), list.pool.end(), [&](std::int32_t l) { return rules.relevant(l); });
}

// Expected number of relevant documents among the first `depth`: exact where the order is settled; a group of ties cut
// by `depth` contributes its share.
inline double expected_relevant(const RankedList& list, const Rules& rules, Position depth) {
    if (list.tied.empty()) return static_cast<double>(count_relevant(list, rules, 0, std::min(depth, list.size())));
    double total = 0;
    for (Position first = 0; first < std::min(depth, list.size());) {
        const Position last = group_end(list, first);
        const double inside = static_cast<double>(count_relevant(list, rules, first, last));
        total += last <= depth ? inside : inside * static_cast<double>(depth - first) / static_cast<double>(last - first);
        first = last;
    }
    return total;
}

// scratch[i] = what the document at position i is worth, averaged inside each group of ties: every measure that is
// linear in the worth has its expectation there.
template <typename Worth>
void fill_worth(const RankedList& list, Position depth, Scratch& scratch, Worth&& worth) {
    scratch.resize(static_cast<std::size_t>(depth));
    for (Position first = 0; first < depth;) {
        const Position last = group_end(list, first);
        double value = 0;
        for (Position i = first; i < last; ++i) value += worth(label_at(list, i));
        if (last - first > 1) value /= static_cast<double>(last - first);
        for (Position i = first; i < std::min(last, depth); ++i) scratch[static_cast<std::size_t>(i)] = value;
        first = last;
    }
}

inline double discounted(double gain, const Rules& rules, Position i) {
    const auto at = static_cast<std::size_t>(i);
    return gain * rules.multipliers[at] / rules.divisors[at];
}

// How many of so many documents of the ideal ranking count.
inline Position ideal_depth(const RankedList& list, const Rules& rules, Position documents) {
    if (rules.ideal_cut == IdealCut::none) return documents;
    const Position depth = rules.depth(documents);
    return rules.ideal_cut == IdealCut::list ? std::min(depth, list.size()) : depth;
}

// The chance that h of the m relevant ones of n tied documents stand in the first `places` of them.
double chance_of(Position h, Position n, Position m, Position places);

}  // namespace pippin
