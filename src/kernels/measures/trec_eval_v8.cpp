// What trec_eval 8.1 computes, in its single precision: ratios are quotients of floats, sums are rounded to float after
// every step, and most of them run from the bottom of the list up. Nothing is undefined here: without a relevant
// document a value is 0, or the -NaN that 8.1 prints.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "measures/trec_eval.hpp"

namespace pippin {
namespace {

using Position = std::int64_t;
using Count = std::int64_t;

constexpr Count kMostNonrelevant = 142;  // the fallout measures stop there
constexpr Count kPoints = 10;            // the recall and fallout curves have this many steps

float ratio(Count a, Count b) { return static_cast<float>(a) / static_cast<float>(b); }
double wide(float value) { return static_cast<double>(value); }

// A float sum to which doubles are added.
struct Sum {
    float value = 0;
    void add(double term) { value = static_cast<float>(wide(value) + term); }
    void divide(Count by) { value /= static_cast<float>(by); }
};

// One query: how many are relevant, and how many of them stand in the first j.
struct Ranked {
    const RankedList& list;
    const Rules& rules;
    Scratch& hits;  // hits[j]: relevant documents among the first j
    Count size, relevant, found;

    Ranked(const RankedList& l, const Rules& r, Scratch& scratch)
        : list(l), rules(r), hits(scratch), size(l.size()),
          relevant(std::count_if(l.pool.begin(), l.pool.end(), [&](std::int32_t x) { return r.relevant(x); })) {
        hits.assign(static_cast<std::size_t>(size) + 1, 0.0);
        for (Position j = 1; j <= size; ++j)
            hits[static_cast<std::size_t>(j)] = hits[static_cast<std::size_t>(j) - 1] + rules.relevant(label(j));
        found = at(size);
    }
    // A document that is not in the pool is worth -1, one judged -1 is worth -2; 8.1 keeps one byte of other labels.
    std::int32_t label(Position rank) const {
        const std::int32_t label = list.labels[static_cast<std::size_t>(rank) - 1];
        return label == kUnjudged ? -1 : label == -1 ? -2 : static_cast<std::int8_t>(label);
    }
    bool is_relevant(Position rank) const { return rules.relevant(label(rank)); }
    Count at(Position rank) const { return static_cast<Count>(hits[static_cast<std::size_t>(std::min(rank, size))]); }
    Count missed() const { return size - found; }
    float precision(Position rank) const { return at(rank) > 0 ? ratio(at(rank), rank) : 0.0F; }
    float recall(Position rank) const { return at(rank) > 0 ? ratio(at(rank), relevant) : 0.0F; }
    float relative(Position rank) const { return rank > relevant ? recall(rank) : precision(rank); }
    // The best precision at this rank or below.
    float interpolated(Position rank) const {
        float best = size > 0 ? ratio(found, size) : 0.0F;
        for (Position j = size; j >= rank; --j) best = std::max(best, precision(j));
        return best;
    }
};

// Most measures are a number of a Ranked; this makes a Measure of it, 0 for an empty list.
template <float (*Value)(const Ranked&)>
double over(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Ranked ranked(list, rules, scratch);
    return ranked.size > 0 ? wide(Value(ranked)) : 0.0;
}

Position cutoff_of(const Ranked& q) { return q.rules.cutoff > 0 ? q.rules.cutoff : q.size; }
float precision_at(const Ranked& q) { return q.precision(cutoff_of(q)); }
float recall_at(const Ranked& q) { return q.recall(cutoff_of(q)); }
float relative_at(const Ranked& q) { return q.relative(cutoff_of(q)); }
float unranked_at(const Ranked& q) { return precision_at(q) * recall_at(q); }
float relative_unranked_at(const Ranked& q) {
    // A list that ends above the cutoff is measured by its precision instead.
    const float value = cutoff_of(q) <= q.size ? relative_at(q) : precision_at(q);
    return value * value;
}

// Interpolated precision where step / 10 of the relevant documents are found.
float interpolated_at_step(const Ranked& q, Count step) {
    if (step == 0) return q.interpolated(1);
    const Count needed = (q.relevant * step + kPoints - 1) / kPoints;
    if (needed == 0 || needed > q.found) return 0.0F;
    Position rank = 1;
    while (q.at(rank) < needed) ++rank;
    return q.interpolated(rank);
}

float interpolated_at_recall(const Ranked& q) { return interpolated_at_step(q, std::lround(q.rules.parameter * kPoints)); }

float eleven_points(const Ranked& q) {
    float sum = 0;
    for (Count step = 0; step <= kPoints; ++step) sum += interpolated_at_step(q, step);
    return sum / static_cast<float>(kPoints + 1);
}

float three_points(const Ranked& q) {
    const float sum = interpolated_at_step(q, 2) + interpolated_at_step(q, 5) + interpolated_at_step(q, 8);
    return static_cast<float>(wide(sum) / 3.0);
}

float r_precision(const Ranked& q) { return q.relevant > 0 ? ratio(q.at(q.relevant), q.relevant) : 0.0F; }
float interpolated_r_precision(const Ranked& q) {
    if (q.relevant == 0) return 0.0F;
    return q.relevant > q.size ? ratio(q.found, q.relevant) : q.interpolated(q.relevant);
}

// The rank that is a multiple of R: 2 R step / 10 rounded up, where 8.1 has steps of 0.2.
Count multiple_of_r(const Ranked& q) {
    const double step = std::round(q.rules.parameter * 5e6) / 1e6;
    return static_cast<Count>((2.0 * static_cast<double>(q.relevant) * step + static_cast<double>(kPoints - 1)) /
                              static_cast<double>(kPoints));
}

float r_precision_multiple(const Ranked& q) {
    const Count rank = multiple_of_r(q);
    return rank > 0 ? ratio(q.at(rank), rank) : 0.0F;
}

float interpolated_r_precision_multiple(const Ranked& q) {
    const Count rank = multiple_of_r(q);
    if (rank == 0) return 0.0F;
    return rank > q.size ? ratio(q.found, rank) : q.interpolated(rank);
}

Count first_relevant(const Ranked& q) {
    for (Position j = 1; j <= q.size; ++j)
        if (q.is_relevant(j)) return j;
    return 0;
}

float reciprocal_rank(const Ranked& q) {
    const Count rank = first_relevant(q);
    return rank > 0 ? static_cast<float>(1.0 / wide(static_cast<float>(rank))) : 0.0F;
}

float rank_of_first(const Ranked& q) { return static_cast<float>(first_relevant(q)); }

Count fallout_cut(Count step) { return (kMostNonrelevant * step + kPoints - 1) / kPoints; }

// Recall just before the next non-relevant document after a number of them, given in tenths of 142. Where a list holds
// exactly as many as one of these numbers, 8.1 never gets past that point, and it and those below it stay 0.
float fallout_recall(const Ranked& q) {
    const double steps = std::ceil(q.rules.parameter * static_cast<double>(kPoints) / static_cast<double>(kMostNonrelevant));
    const auto step = static_cast<Count>(std::clamp(steps, 0.0, static_cast<double>(kPoints)));
    if (q.missed() < fallout_cut(step)) return q.found > 0 ? ratio(q.found, q.relevant) : 0.0F;
    Count last = kPoints;
    while (last > 0 && fallout_cut(last) > q.missed()) --last;
    if (fallout_cut(last) == q.missed()) return 0.0F;
    Position rank = 1;
    while (q.is_relevant(rank) || rank - q.at(rank) != fallout_cut(step) + 1) ++rank;
    return q.recall(rank);
}

float average_fallout_recall(const Ranked& q) {
    Sum sum;
    for (Position j = q.size; j > 0; --j)
        if (!q.is_relevant(j) && j - q.at(j) < kMostNonrelevant) sum.add(wide(q.recall(j)));
    if (q.missed() < kMostNonrelevant && q.found > 0)
        sum.value += static_cast<float>(kMostNonrelevant - q.missed()) * ratio(q.found, q.relevant);
    sum.divide(kMostNonrelevant);
    return sum.value;
}

// Sum over relevant documents, from the bottom, of the precision (or of the interpolated precision) at their ranks.
Sum precision_sum(const Ranked& q, bool interpolated) {
    Sum sum;
    float best = ratio(q.found, q.size);
    for (Position j = q.size; j > 0; --j) {
        best = std::max(best, q.precision(j));
        if (q.is_relevant(j)) sum.add(wide(interpolated ? best : q.precision(j)));
    }
    return sum;
}

float average_precision(const Ranked& q) {
    Sum sum = precision_sum(q, false);
    if (q.found > 0) sum.divide(q.relevant);
    return sum.value;
}

float interpolated_average_precision(const Ranked& q) {
    Sum sum = precision_sum(q, true);
    if (q.found > 0) sum.divide(q.relevant);
    return sum.value;
}

float document_precision(const Ranked& q) { return precision_sum(q, false).value; }

float average_relative_precision(const Ranked& q) {
    Sum sum;
    for (Position j = q.size; j > 0; --j) sum.add(wide(q.relative(j)));
    sum.divide(q.size);
    return sum.value;
}

// Precision averaged over the ranks above R; ranks below the end of the list count what was found.
float average_to_r(const Ranked& q, bool interpolated) {
    Sum sum;
    float best = ratio(q.found, q.size);
    for (Position j = q.size; j > 0; --j) {
        best = std::max(best, q.precision(j));
        if (j < q.relevant) sum.add(wide(interpolated ? best : q.precision(j)));
    }
    for (Position j = q.size; j < q.relevant; ++j) sum.value += ratio(q.found, j);
    if (q.relevant > 0) sum.divide(q.relevant);
    return sum.value;
}

float map_at_r(const Ranked& q) { return average_to_r(q, false); }
float interpolated_map_at_r(const Ranked& q) { return average_to_r(q, true); }

float share(Count a, Count b) { return static_cast<float>(static_cast<double>(a) / static_cast<double>(b)); }
float exact_recall(const Ranked& q) { return q.relevant > 0 ? share(q.found, q.relevant) : 0.0F; }
float exact_precision(const Ranked& q) { return q.relevant > 0 ? share(q.found, q.size) : 0.0F; }
float exact_unranked(const Ranked& q) { return exact_recall(q) * exact_precision(q); }
float exact_relative(const Ranked& q) { return q.relevant > q.size ? exact_precision(q) : exact_recall(q); }
float exact_relative_unranked(const Ranked& q) { return exact_precision(q) * exact_precision(q); }
float exact_utility(const Ranked& q) {
    const auto worth = q.rules.numbers;
    if (q.relevant == 0 || worth.size() != 5) return 0.0F;
    const auto real = [](Count count) { return static_cast<double>(count); };
    return static_cast<float>(worth[0] * real(q.found) + worth[1] * real(q.size - q.found) +
                              worth[2] * real(q.relevant - q.found) +
                              worth[3] * real(static_cast<Count>(worth[4]) + q.found - q.size - q.relevant));
}

float number_retrieved(const Ranked& q) { return static_cast<float>(q.size); }
float number_relevant(const Ranked& q) { return static_cast<float>(q.relevant); }
float number_found(const Ranked& q) { return static_cast<float>(q.found); }

// Judged non-relevant documents, and how a list ranks the relevant ones against them. Judgements of -1 and -2 say that a
// document was pooled and not judged; one below -2 counts as relevant here, an oversight of 8.1.
struct Preferences {
    static constexpr Count kTop = 100;
    Count relevant, nonrelevant, nonrelevant_found = 0, relevant_found = 0;
    Sum bpref, old_bpref, all, retrieved, retrieved_all, top, top5r, top10r, top10, old_top10, top25, top50, top25_2r, five,
        ten;
    Sum number_all, number_retrieved, inferred;
    Count correct = 0, possible = 0;

    explicit Preferences(const Ranked& q)
        : relevant(q.relevant), nonrelevant(static_cast<Count>(q.list.pool.size()) - q.relevant) {
        for (Position rank = 1; rank <= q.size; ++rank) nonrelevant_found += q.label(rank) >= 0 && !q.is_relevant(rank);
        Count above = 0, pooled = 0, bounded = 0;
        for (Position i = 0; i < q.size; ++i) {
            const std::int32_t label = q.label(i + 1);
            if (label == -1) continue;
            if (label == -2) {
                ++pooled;
            } else if (label >= 0 && !q.rules.relevant(label)) {
                bounded += above < 5 * relevant;
                ++above;
            } else {
                ++relevant_found;
                add(above, bounded);
                infer(i, above, pooled);
            }
        }
        finish(q.found);
    }

  private:
    static double kept(Count above, Count most) { return 1.0 - wide(ratio(above, most)); }
    static double kept(Count above, Count all, Count bound) { return kept(std::min(above, bound), std::min(all, bound)); }

    void add(Count above, Count bounded) {
        const bool clean = above == 0;  // avoids 0/0
        const auto up_to = [&](Count all_nonrelevant, Count bound) {
            return clean ? 1.0 : kept(above, all_nonrelevant, bound);
        };
        bpref.add(up_to(nonrelevant, relevant));
        old_bpref.add(up_to(nonrelevant_found, relevant));
        all.add(clean ? 1.0 : kept(above, nonrelevant));
        retrieved.add(clean ? 1.0 : kept(above, nonrelevant_found));
        retrieved_all.add(clean ? 1.0 : kept(above, nonrelevant_found));
        top.add(up_to(nonrelevant, kTop));
        top10.add(up_to(nonrelevant, 10 + relevant));
        old_top10.add(up_to(nonrelevant_found, 10 + relevant));
        top25.add(up_to(nonrelevant, 25 + relevant));
        top50.add(up_to(nonrelevant, 50 + relevant));
        top25_2r.add(up_to(nonrelevant, 25 + 2 * relevant));
        if (!clean) correct += std::min(nonrelevant, relevant) - std::min(above, relevant);
        if (relevant_found <= 5 && above < 5) five.add(clean ? 1.0 : kept(above, std::min(nonrelevant, Count{5})));
        if (relevant_found <= 10 && above < 10) ten.add(clean ? 1.0 : kept(above, std::min(nonrelevant, Count{10})));
        top5r.add(kept(bounded, std::min(nonrelevant, relevant * 5)));
        top10r.add(kept(bounded, std::min(nonrelevant, relevant * 10)));
        number_all.value += static_cast<float>(nonrelevant - above);
        number_retrieved.value += static_cast<float>(nonrelevant_found - above);
    }

    void infer(Position i, Count above, Count pooled) {
        constexpr double kEpsilon = 0.00001;
        if (i == 0) return inferred.add(1.0);
        const auto before = static_cast<float>(i);
        const double next = wide(before) + 1.0;
        const auto found = static_cast<double>(relevant_found - 1);
        inferred.add(1.0 / next + (wide(before) / next) *
                                      wide(static_cast<float>(relevant_found - 1 + above + pooled) / before) *
                                      ((found + kEpsilon) / (found + static_cast<double>(above) + 2 * kEpsilon)));
    }

    void finish(Count found) {
        if (relevant == 0) return;
        for (Sum* sum : {&bpref, &old_bpref, &all, &retrieved, &top, &top5r, &top10r, &top10, &old_top10, &top25, &top50,
                         &top25_2r, &inferred})
            sum->divide(relevant);
        if (found > 0) {
            retrieved_all.divide(found);
            five.divide(std::min(relevant_found, Count{5}));
            ten.divide(std::min(relevant_found, Count{10}));
        }
        possible = relevant * std::min(nonrelevant, relevant);
    }
};

template <Sum Preferences::* Field>
float preference(const Ranked& q) {
    return (Preferences(q).*Field).value;
}

template <Count Preferences::* Field>
float preference_count(const Ranked& q) {
    return static_cast<float>(Preferences(q).*Field);
}

constexpr std::array<std::pair<std::string_view, Measure>, 52> kMeasures{{
    {"v8_num_ret", over<number_retrieved>},
    {"v8_num_rel", over<number_relevant>},
    {"v8_num_rel_ret", over<number_found>},
    {"v8_map", over<average_precision>},
    {"v8_R-prec", over<r_precision>},
    {"v8_recip_rank", over<reciprocal_rank>},
    {"v8_rank_first_rel", over<rank_of_first>},
    {"v8_exact_prec", over<exact_precision>},
    {"v8_exact_recall", over<exact_recall>},
    {"v8_11-pt_avg", over<eleven_points>},
    {"v8_3-pt_avg", over<three_points>},
    {"v8_avg_doc_prec", over<document_precision>},
    {"v8_exact_relative_prec", over<exact_relative>},
    {"v8_avg_relative_prec", over<average_relative_precision>},
    {"v8_exact_unranked_avg_prec", over<exact_unranked>},
    {"v8_exact_relative_unranked_avg_prec", over<exact_relative_unranked>},
    {"v8_map_at_R", over<map_at_r>},
    {"v8_int_map", over<interpolated_average_precision>},
    {"v8_exact_int_R_rcl_prec", over<interpolated_r_precision>},
    {"v8_int_map_at_R", over<interpolated_map_at_r>},
    {"v8_ircl_prn", over<interpolated_at_recall>},
    {"v8_P", over<precision_at>},
    {"v8_recall", over<recall_at>},
    {"v8_Rprec_mult", over<r_precision_multiple>},
    {"v8_relative_prec", over<relative_at>},
    {"v8_unranked_avg_prec", over<unranked_at>},
    {"v8_relative_unranked_avg_prec", over<relative_unranked_at>},
    {"v8_utility", over<exact_utility>},
    {"v8_rcl_at_142_nonrel", over<average_fallout_recall>},
    {"v8_fallout_recall", over<fallout_recall>},
    {"v8_int_Rprec_mult", over<interpolated_r_precision_multiple>},
    {"v8_bpref", over<preference<&Preferences::bpref>>},
    {"v8_old_bpref", over<preference<&Preferences::old_bpref>>},
    {"v8_bpref_allnonrel", over<preference<&Preferences::all>>},
    {"v8_bpref_retnonrel", over<preference<&Preferences::retrieved>>},
    {"v8_bpref_retall", over<preference<&Preferences::retrieved_all>>},
    {"v8_bpref_topnonrel", over<preference<&Preferences::top>>},
    {"v8_bpref_top5Rnonrel", over<preference<&Preferences::top5r>>},
    {"v8_bpref_top10Rnonrel", over<preference<&Preferences::top10r>>},
    {"v8_bpref_top10pRnonrel", over<preference<&Preferences::top10>>},
    {"v8_bpref_top25pRnonrel", over<preference<&Preferences::top25>>},
    {"v8_bpref_top50pRnonrel", over<preference<&Preferences::top50>>},
    {"v8_bpref_top25p2Rnonrel", over<preference<&Preferences::top25_2r>>},
    {"v8_bpref_5", over<preference<&Preferences::five>>},
    {"v8_bpref_10", over<preference<&Preferences::ten>>},
    {"v8_bpref_num_all", over<preference<&Preferences::number_all>>},
    {"v8_bpref_num_ret", over<preference<&Preferences::number_retrieved>>},
    {"v8_num_nonrel_judged_ret", over<preference_count<&Preferences::nonrelevant_found>>},
    {"v8_bpref_num_correct", over<preference_count<&Preferences::correct>>},
    {"v8_bpref_num_possible", over<preference_count<&Preferences::possible>>},
    {"v8_old_bpref_top10pRnonrel", over<preference<&Preferences::old_top10>>},
    {"v8_infAP", over<preference<&Preferences::inferred>>},
}};

}  // namespace

Measure find_trec8_measure(std::string_view name) {
    for (const auto& [known, measure] : kMeasures)
        if (known == name) return measure;
    return nullptr;
}

}  // namespace pippin
