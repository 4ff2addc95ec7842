// The measures of the field as trec_eval 9 and 10 compute them, for the drop-in: the same as elsewhere while some document
// is relevant and the level is 1 or more, and what those versions print beyond that. Sums run as their loops do.
#include <array>
#include <string_view>
#include <utility>

#include "measures/trec_eval_topic.hpp"

namespace pippin {
namespace {

Position depth_of(const RankedList& list, const Rules& rules) { return rules.depth(list.size()); }

Count hits_within(const RankedList& list, const Rules& rules, Position depth) {
    Count hits = 0;
    for (Position i = 0; i < std::min(depth, list.size()); ++i) hits += relevant_at(list, rules, i);
    return hits;
}

struct Sum {
    double total = 0;
    Count hits = 0;
};

// Precision at each relevant document, added up.
Sum summed_precision(const RankedList& list, const Rules& rules) {
    Sum sum;
    for (Position i = 0; i < depth_of(list, rules); ++i)
        if (relevant_at(list, rules, i)) sum.total += real(++sum.hits) / real(i + 1);
    return sum;
}

double average_precision(const RankedList& list, const Rules& rules, Scratch&) {
    const Sum sum = summed_precision(list, rules);
    return sum.hits > 0 ? sum.total / real(judged_relevant(list, rules)) : 0.0;
}

double average_precision_at(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    return relevant > 0 ? summed_precision(list, rules).total / real(relevant) : 0.0;
}

double r_precision(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    return relevant > 0 ? real(hits_within(list, rules, relevant)) / real(relevant) : 0.0;
}

double reciprocal_rank(const RankedList& list, const Rules& rules, Scratch&) {
    for (Position i = 0; i < list.size(); ++i)
        if (relevant_at(list, rules, i)) return 1.0 / real(i + 1);
    return 0.0;
}

double bpref(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    const Count nonrelevant =
        std::count_if(list.pool.begin(), list.pool.end(), [&](std::int32_t label) { return judged_nonrelevant(rules, label); });
    Count above = 0;
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i) {
        const std::int32_t label = trec_label_at(list, i);
        if (judged_nonrelevant(rules, label)) ++above;
        else if (label >= 0)
            sum += above > 0 ? 1.0 - real(std::min(above, relevant)) / real(std::min(nonrelevant, relevant)) : 1.0;
    }
    return relevant > 0 ? sum / real(relevant) : sum;
}

double precision_at(const RankedList& list, const Rules& rules, Scratch&) {
    return real(hits_within(list, rules, rules.cutoff)) / real(rules.cutoff);
}

double recall_at(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    return relevant > 0 ? real(hits_within(list, rules, rules.cutoff)) / real(relevant) : 0.0;
}

double relative_precision_at(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    return relevant > 0 ? real(hits_within(list, rules, rules.cutoff)) / real(std::min(rules.cutoff, relevant)) : 0.0;
}

double success_at(const RankedList& list, const Rules& rules, Scratch&) {
    return hits_within(list, rules, rules.cutoff) > 0 ? 1.0 : 0.0;
}

// The ideal ranking holds judged documents from the highest label down to 1.
double ndcg_at(const RankedList& list, const Rules& rules, Scratch&) {
    double have = 0, best = 0;
    for (Position i = 0; i < depth_of(list, rules); ++i)
        if (const std::int32_t label = trec_label_at(list, i); label > 0) have += label / std::log2(real(i + 2));
    for (Position i = 0; i < rules.cutoff && i < static_cast<Position>(list.pool.size()); ++i) {
        const std::int32_t label = list.pool[static_cast<std::size_t>(i)];
        if (label <= 0) break;
        best += label / std::log2(real(i + 2));
    }
    return best > 0 ? have / best : have;
}

double num_relevant(const RankedList& list, const Rules& rules, Scratch&) { return real(judged_relevant(list, rules)); }
double num_relevant_retrieved(const RankedList& list, const Rules& rules, Scratch&) {
    return real(retrieved_relevant(list, rules, list.size()));
}
double set_precision(const RankedList& list, const Rules& rules, Scratch&) {
    return list.size() > 0 ? real(retrieved_relevant(list, rules, list.size())) / real(list.size()) : 0.0;
}
double set_recall(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    return relevant > 0 ? real(retrieved_relevant(list, rules, list.size())) / real(relevant) : 0.0;
}

constexpr std::array<std::pair<std::string_view, Measure>, 14> kMeasures{{
    {"v9_map", average_precision},
    {"v9_map_cut", average_precision_at},
    {"v9_Rprec", r_precision},
    {"v9_recip_rank", reciprocal_rank},
    {"v9_bpref", bpref},
    {"v9_P", precision_at},
    {"v9_recall", recall_at},
    {"v9_relative_P", relative_precision_at},
    {"v9_success", success_at},
    {"v9_ndcg_cut", ndcg_at},
    {"v9_num_rel", num_relevant},
    {"v9_num_rel_ret", num_relevant_retrieved},
    {"v9_set_P", set_precision},
    {"v9_set_recall", set_recall},
}};

}  // namespace

Measure find_trec9_measure(std::string_view name) {
    for (const auto& [known, measure] : kMeasures)
        if (known == name) return measure;
    return nullptr;
}

}  // namespace pippin
