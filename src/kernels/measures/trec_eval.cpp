// What trec_eval 9 and 10 compute besides the measures of the field. An unjudged document and one that was
// pooled but not judged (a label below 0) are distinguished where trec_eval does. Sums run as its loops do, so that a value
// on the edge of rounding prints the same last digit. A value is undefined (NaN) where nothing is relevant and trec_eval
// divides by that; where it prints a NaN itself, the value is -NaN, as its processor makes it.
#include "measures/trec_eval_topic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace pippin {
namespace {

// How many relevant documents a recall level stands for: level · R rounded up (versions up to 9 add 0.9 and cut off), or
// to the nearest (version 10).
Count recall_cut(double level, Count relevant, RecallCut cut) {
    const double share = level * real(relevant);
    return truncated<Count>(cut == RecallCut::nearest ? std::round(share) : share + 0.9);
}

// Interpolated precision at recall levels: the best precision at or below the rank that reaches the level. The list is
// walked from its end, and the levels from the last one, which waits for its rank before the one before it is looked at.
void interpolate(const RankedList& list, const Rules& rules, std::span<const double> levels, Scratch& values) {
    const Count relevant = judged_relevant(list, rules);
    Count hits = retrieved_relevant(list, rules, list.size());
    const auto cut = [&](std::size_t level) { return recall_cut(levels[level], relevant, rules.recall_cut); };
    values.assign(levels.size(), 0.0);
    std::size_t left = levels.size();
    while (left > 0 && cut(left - 1) > hits) --left;
    double best = list.size() > 0 ? real(hits) / real(list.size()) : -kUndefined;  // 0/0 in the original
    for (Position i = list.size(); i > 0 && hits > 0; --i) {
        best = std::max(best, real(hits) / real(i));
        if (!relevant_at(list, rules, i - 1)) continue;
        while (left > 0 && hits == cut(left - 1)) values[--left] = best;
        --hits;
    }
    while (left > 0) values[--left] = best;
}

double interpolated_precision(const RankedList& list, const Rules& rules, Scratch& scratch) {
    interpolate(list, rules, {&rules.parameter, 1}, scratch);
    return scratch[0];
}

// Numbers: all levels; the parameter is the index of the requested level.
double interpolated_precision_of(const RankedList& list, const Rules& rules, Scratch& scratch) {
    interpolate(list, rules, rules.numbers, scratch);
    return scratch[static_cast<std::size_t>(rules.parameter)];
}

// The mean over all levels, the last one added first.
double mean_interpolated(const RankedList& list, const Rules& rules, Scratch& scratch) {
    interpolate(list, rules, rules.numbers, scratch);
    double sum = 0;
    for (auto value = scratch.rbegin(); value != scratch.rend(); ++value) sum += *value;
    return sum / real(static_cast<Count>(rules.numbers.size()));
}

// Precision at multiples of R. Relevant documents are counted down from the end of the list, and the multiples looked at
// from the last one.
void multiples(const RankedList& list, const Rules& rules, std::span<const double> wanted, Scratch& values) {
    const Count relevant = judged_relevant(list, rules);
    Count hits = retrieved_relevant(list, rules, list.size());
    const auto cut = [&](std::size_t place) { return truncated<Count>(wanted[place] * real(relevant) + 0.9); };
    values.assign(wanted.size(), 0.0);
    std::size_t left = wanted.size();
    for (; left > 0 && cut(left - 1) > list.size(); --left) values[left - 1] = real(hits) / real(cut(left - 1));
    for (Position i = list.size(); i > 0 && hits > 0; --i) {
        for (; left > 0 && i == cut(left - 1); --left) values[left - 1] = real(hits) / real(i);
        hits -= relevant_at(list, rules, i - 1);
    }
}

double r_precision_multiple(const RankedList& list, const Rules& rules, Scratch& scratch) {
    multiples(list, rules, {&rules.parameter, 1}, scratch);
    return scratch[0];
}

// Numbers: all multiples; the parameter is the index of the requested multiple.
double r_precision_multiple_of(const RankedList& list, const Rules& rules, Scratch& scratch) {
    multiples(list, rules, rules.numbers, scratch);
    return scratch[static_cast<std::size_t>(rules.parameter)];
}

// Precision over the best possible precision at that cutoff.
double relative_precision(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    if (relevant == 0) return kUndefined;
    const Position depth = rules.cutoff > 0 ? rules.cutoff : list.size();
    if (depth == 0) return 0.0;
    return real(retrieved_relevant(list, rules, depth)) / real(std::min(depth, relevant));
}

double set_map(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules), size = list.size();
    if (relevant == 0) return kUndefined;
    if (size == 0) return 0.0;
    const Count hits = retrieved_relevant(list, rules, size);
    return (real(hits) * real(hits)) / (real(size) * real(relevant));
}

// (x + 1) P R / (x P + R), x the weight of recall.
double set_f(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules), hits = retrieved_relevant(list, rules, list.size());
    if (relevant == 0) return kUndefined;
    if (hits == 0) return 0.0;
    const double precision = real(hits) / real(list.size()), recall = real(hits) / real(relevant), x = rules.parameter;
    return (x + 1.0) * precision * recall / (x * precision + recall);
}

// Numbers: worth of a relevant retrieved, a non-relevant retrieved, a relevant missed, a non-relevant missed document,
// and the size of the collection.
double utility(const RankedList& list, const Rules& rules, Scratch&) {
    const Count hits = retrieved_relevant(list, rules, list.size()), relevant = judged_relevant(list, rules);
    const auto worth = rules.numbers;
    if (worth.size() != 5) return kUndefined;
    return worth[0] * real(hits) + worth[1] * real(list.size() - hits) + worth[2] * real(relevant - hits) +
           worth[3] * real(static_cast<Count>(worth[4]) + hits - list.size() - relevant);
}

// Mean over relevant documents of 1 / log2(2 + non-relevant documents above).
double binary_g(const RankedList& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    Count hits = 0;
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i)
        if (relevant_at(list, rules, i)) sum += 1.0 / std::log2(real(3 + i - ++hits));
    return relevant > 0 || hits > 0 ? sum / real(relevant) : kUndefined;
}

// Inferred AP (Yilmaz & Aslam 2006): judgements are a sample of the pool, and documents outside it are not relevant.
double inferred_ap(const RankedList& list, const Rules& rules, Scratch&) {
    constexpr double kEpsilon = 0.00001;
    const Count relevant = judged_relevant(list, rules);
    if (relevant == 0) return kUndefined;
    Count hits = 0, misses = 0, pooled = 0;
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i) {
        const std::int32_t label = trec_label_at(list, i);
        if (label == -1) continue;
        if (label < 0) {
            ++pooled;
        } else if (!rules.relevant(label)) {
            ++misses;
        } else {
            const double above = real(i), found = real(hits++);
            if (i == 0) {
                sum += 1.0;
                continue;
            }
            sum += 1.0 / (above + 1.0) + (above / (above + 1.0)) * ((found + real(misses) + real(pooled)) / above) *
                                             ((found + kEpsilon) / (found + real(misses) + 2 * kEpsilon));
        }
    }
    return sum / real(relevant);
}

// Robertson 2012: log((1 + Σ) / (1 + R − Σ)) with Σ the sum that AP divides by R.
double yet_another_ap(const RankedList& list, const Rules& rules, Scratch&) {
    Count hits = 0;
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i)
        if (relevant_at(list, rules, i)) sum += real(++hits) / real(i + 1);
    return std::log((1.0 + sum) / (1.0 + real(judged_relevant(list, rules)) - sum));
}

double nonrelevant_retrieved(const RankedList& list, const Rules& rules, Scratch&) {
    return real(std::count_if(list.labels.begin(), list.labels.end(),
                              [&](std::int32_t label) { return judged_nonrelevant(rules, label); }));
}

// Share of unjudged documents within the cutoff; missing documents count as judged.
double unjudged_share(const RankedList& list, const Rules& rules, Scratch&) {
    const Position depth = rules.depth(list.size()), cutoff = rules.cutoff > 0 ? rules.cutoff : list.size();
    if (cutoff == 0) return 0.0;
    return real(std::count_if(list.labels.begin(), list.labels.begin() + depth, [](std::int32_t label) { return label < 0; })) /
           real(cutoff);
}

// By how much RBP could rise if every unjudged document were relevant: p^n + (1 − p) Σ p^(r−1) over unjudged ranks.
double rbp_residual(const RankedList& list, const Rules& rules, Scratch&) {
    const double p = rules.parameter;
    double weight = 1, sum = 0;
    bool any = false;
    for (Position i = 0; i < list.size(); ++i, weight *= p) {
        if (trec_label_at(list, i) < 0) {
            any = true;
            sum += weight;
        }
    }
    return any ? weight + (1 - p) * sum : 0.0;
}

constexpr std::array<std::pair<std::string_view, Measure>, 15> kMeasures{{
    {"iprec_at_recall", interpolated_precision},
    {"iprec_of_recall", interpolated_precision_of},
    {"iprec_average", mean_interpolated},
    {"Rprec_mult", r_precision_multiple},
    {"Rprec_mult_of", r_precision_multiple_of},
    {"relative_P", relative_precision},
    {"set_map", set_map},
    {"set_F", set_f},
    {"utility", utility},
    {"binG", binary_g},
    {"infAP", inferred_ap},
    {"yaap", yet_another_ap},
    {"num_nonrel_judged_ret", nonrelevant_retrieved},
    {"unj", unjudged_share},
    {"rbp_resid", rbp_residual},
}};

}  // namespace

Measure find_trec_measure(std::string_view name) {
    for (const auto& [known, measure] : kMeasures)
        if (known == name) return measure;
    for (const auto find : {find_trec_gain_measure, find_trec9_measure})
        if (const Measure measure = find(name)) return measure;
    return find_trec8_measure(name);
}

}  // namespace pippin
