// The measures of the field, each for a settled order and, where scores are tied, as the exact expectation over all
// orders of the tied documents. Sums run from the top of the list down, as the original tools' do.
#include "measures/measures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "measures/libraries.hpp"
#include "measures/ranked_list.hpp"
#include "parallel.hpp"
#include "measures/trec_eval.hpp"

namespace pippin {
namespace {

constexpr std::size_t kGrades = 32;  // up to so many labels are counted rather than sorted

// Gains in rank order, averaged inside each group of ties.
void fill_gains(const RankedList& list, const Rules& rules, Position depth, Scratch& scratch) {
    fill_worth(list, depth, scratch, [&](std::int32_t label) { return rules.signed_gain(label); });
}

// DCG = Σ gain(label at r) · discount(r), r up to the cutoff.
double dcg_value(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Position depth = rules.depth(list.size());
    double sum = 0;
    if (list.tied.empty()) {
        for (Position i = 0; i < depth; ++i) {
            const std::int32_t label = label_at(list, i);
            if (label > 0 || rules.negative_gains) sum += discounted(rules.signed_gain(label), rules, i);
        }
        return sum;
    }
    fill_gains(list, rules, depth, scratch);
    for (Position i = 0; i < depth; ++i) sum += discounted(scratch[static_cast<std::size_t>(i)], rules, i);
    return sum;
}

// Gains of a list's labels, best first, where there are few grades: labels are counted, and nothing is sorted but grades.
void fill_counted(const RankedList& list, const Rules& rules, Scratch& scratch) {
    std::array<std::int32_t, kGrades> counts{}, grades;
    for (const std::int32_t label : list.labels) counts[static_cast<std::size_t>(std::max(label, 0))] += 1;
    const auto end = grades.begin() + static_cast<std::ptrdiff_t>(rules.gains.size());
    std::iota(grades.begin(), end, 0);
    std::sort(grades.begin(), end, [&](std::int32_t a, std::int32_t b) { return rules.gain(a) > rules.gain(b); });
    for (auto grade = grades.begin(); grade != end && rules.gain(*grade) > 0; ++grade)
        scratch.insert(scratch.end(), static_cast<std::size_t>(counts[static_cast<std::size_t>(*grade)]), rules.gain(*grade));
}

// Gains of the ideal ranking, best first.
void fill_ideal(const RankedList& list, const Rules& rules, Scratch& scratch) {
    scratch.clear();
    if (rules.ideal_from_list && !rules.negative_gains && rules.gains.size() <= kGrades)
        return fill_counted(list, rules, scratch);
    const auto source = rules.ideal_from_list ? list.labels : list.pool;
    for (const std::int32_t label : source) {
        const double gain = rules.signed_gain(label);
        if (gain > 0 || rules.negative_gains) scratch.push_back(gain);
    }
    if (!std::is_sorted(scratch.begin(), scratch.end(), std::greater<>()))
        std::sort(scratch.begin(), scratch.end(), std::greater<>());
}

}  // namespace

double ideal_dcg(const RankedList& list, const Rules& rules, Scratch& scratch) {
    fill_ideal(list, rules, scratch);
    const Position depth = ideal_depth(list, rules, static_cast<Position>(scratch.size()));
    double sum = 0;
    for (Position i = 0; i < depth; ++i) sum += discounted(scratch[static_cast<std::size_t>(i)], rules, i);
    return sum;
}

double chance_of(Position h, Position n, Position m, Position places) {
    const auto choose = [](Position a, Position b) {
        return std::lgamma(static_cast<double>(a) + 1) - std::lgamma(static_cast<double>(b) + 1) -
               std::lgamma(static_cast<double>(a - b) + 1);
    };
    return std::exp(choose(m, h) + choose(n - m, places - h) - choose(n, places));
}

bool too_short(const RankedList& list, const Rules& rules) { return rules.short_is_zero && rules.cutoff > list.size(); }

namespace {

double dcg(const RankedList& list, const Rules& rules, Scratch& scratch) {
    return too_short(list, rules) ? 0.0 : dcg_value(list, rules, scratch);
}

double ndcg(const RankedList& list, const Rules& rules, Scratch& scratch) {
    if (too_short(list, rules)) return 0.0;
    const double ideal = list.ideal > 0 ? list.ideal : ideal_dcg(list, rules, scratch);
    if (!rules.negative_gains) return ideal > 0 ? dcg_value(list, rules, scratch) / ideal : kUndefined;
    // With labels below 0, nothing is to gain where all labels sum up to nothing (torchmetrics).
    // Gains that cancel leave no more than a rounding error, whose size hangs on the order in which they are added.
    double sum = 0, magnitude = 0;
    for (const std::int32_t label : rules.ideal_from_list ? list.labels : list.pool) {
        sum += rules.signed_gain(label);
        magnitude += std::abs(rules.signed_gain(label));
    }
    const double rounding = 1e-12 * magnitude;
    if (std::abs(sum) <= rounding) return kUndefined;
    return std::abs(ideal) > rounding ? dcg_value(list, rules, scratch) / ideal : 0.0;
}

// Mean of NDCG@1 … NDCG@n, as LETOR 4.0 and MSLR print it.
double mean_ndcg(const RankedList& list, const Rules& rules, Scratch& scratch) {
    fill_ideal(list, rules, scratch);
    if (scratch.empty()) return kUndefined;
    const Scratch ideal = scratch;
    const Position depth = rules.depth(list.size());
    fill_gains(list, rules, depth, scratch);
    double have = 0, best = 0, sum = 0;
    for (Position i = 0; i < depth; ++i) {
        const auto at = static_cast<std::size_t>(i);
        have += discounted(scratch[at], rules, i);
        if (at < ideal.size()) best += discounted(ideal[at], rules, i);
        sum += have / best;
    }
    return depth > 0 ? sum / static_cast<double>(depth) : 0.0;
}

double precision(const RankedList& list, const Rules& rules, Scratch&) {
    const Position size = list.size(), cutoff = rules.cutoff > 0 ? rules.cutoff : size;
    if (size == 0) return 0.0;
    Position denominator = cutoff;
    if (size < cutoff) {
        if (rules.short_precision == ShortPrecision::zero) return 0.0;
        if (rules.short_precision == ShortPrecision::over_list) denominator = size;
    }
    return expected_relevant(list, rules, cutoff) / static_cast<double>(denominator);
}

double recall(const RankedList& list, const Rules& rules, Scratch&) {
    Position relevant = pool_relevant(list, rules);
    if (relevant == 0) return kUndefined;
    if (rules.recall_denominator == RecallDenominator::cutoff) relevant = rules.depth(relevant);
    return expected_relevant(list, rules, rules.depth(list.size())) / static_cast<double>(relevant);
}

// Precision at rank R, the number of relevant documents.
double r_precision(const RankedList& list, const Rules& rules, Scratch&) {
    const Position relevant = pool_relevant(list, rules);
    return relevant == 0 ? kUndefined : expected_relevant(list, rules, relevant) / static_cast<double>(relevant);
}

// F-measure of precision and recall at the cutoff, (1 + β²)·P·R / (β²·P + R) = (1 + β²)·hits / (β²·R + k): linear in the hits.
double f_measure(const RankedList& list, const Rules& rules, Scratch&) {
    const double beta2 = rules.parameter * rules.parameter;
    const Position relevant = pool_relevant(list, rules), size = list.size();
    if (relevant == 0) return kUndefined;
    if (size == 0) return 0.0;
    Position denominator = rules.cutoff > 0 ? rules.cutoff : size;
    if (size < denominator) {
        if (rules.short_precision == ShortPrecision::zero) return 0.0;
        if (rules.short_precision == ShortPrecision::over_list) denominator = size;
    }
    const double hits = expected_relevant(list, rules, rules.depth(size));
    return (1 + beta2) * hits / (beta2 * static_cast<double>(relevant) + static_cast<double>(denominator));
}

}  // namespace

double ap_denominator(const RankedList& list, const Rules& rules) {
    const Position size = list.size();
    if (rules.undefined_at_cutoff && count_relevant(list, rules, 0, rules.depth(size)) == 0) return 0.0;
    if (rules.denominator == Denominator::list) return static_cast<double>(count_relevant(list, rules, 0, size));
    const Position relevant = pool_relevant(list, rules);
    if (rules.denominator == Denominator::judged) return static_cast<double>(relevant);
    // Without hits the sum is 0; it is undefined only if no document is relevant.
    if (rules.denominator == Denominator::found)
        return static_cast<double>(
            std::max(count_relevant(list, rules, 0, rules.depth(size)), std::min<Position>(relevant, 1)));
    if (rules.denominator == Denominator::shortest && size > 0)
        return static_cast<double>(std::min(relevant, rules.depth(size)));
    return static_cast<double>(rules.depth(relevant));
}

double err_top(const RankedList& list, const Rules& rules) {
    double top = rules.top_gain;
    if (top == 0) {
        for (const std::int32_t label : list.pool) top = std::max(top, rules.gain(label) + 1);
    }
    return top;
}

namespace {

// Σ over the places of [first, first + places), which hold m relevant documents in an open order, of the expected
// precision where one stands, with `hits` of them above.
double expected_precisions(Position first, Position places, Position m, Position hits) {
    if (m == 0) return 0;
    const double share = static_cast<double>(m) / static_cast<double>(places);
    const double slope = places > 1 ? static_cast<double>(m - 1) / static_cast<double>(places - 1) : 0.0;
    double sum = 0;
    for (Position i = 0; i < places; ++i)
        sum += share * (static_cast<double>(hits + 1) + static_cast<double>(i) * slope) / static_cast<double>(first + i + 1);
    return sum;
}

// AP over the hits above the cutoff. A group of ties that reaches over it shows h of its relevant documents with a
// hypergeometric chance, and given h their places are as open as in a group that ends there.
double average_precision_of_found(const RankedList& list, const Rules& rules) {
    const Position depth = rules.depth(list.size());
    double sum = 0;
    Position hits = 0;
    for (Position first = 0; first < depth;) {
        const Position last = group_end(list, first), n = last - first, m = count_relevant(list, rules, first, last);
        if (last > depth) {
            const Position places = depth - first;
            double expected = 0;
            for (Position h = std::max<Position>(0, places - (n - m)); h <= std::min(m, places); ++h)
                if (hits + h > 0)
                    expected += chance_of(h, n, m, places) * (sum + expected_precisions(first, places, h, hits)) /
                                static_cast<double>(hits + h);
            return expected;
        }
        sum += expected_precisions(first, n, m, hits);
        hits += m;
        first = last;
    }
    return hits > 0 ? sum / static_cast<double>(hits) : 0.0;
}

// Σ over relevant ranks r of (relevant up to r) / r in a settled order. Eight labels at a time: where none is relevant, as
// mostly in a run, they are passed over together, and else no branch depends on one, as it could not be foreseen where
// every second label is. What is added for the others is 0, which changes no bit.
double settled_precisions(std::span<const std::int32_t> labels, const Rules& rules) {
    constexpr std::size_t kBlock = 8;
    double sum = 0;
    Position hits = 0;
    for (std::size_t first = 0; first < labels.size(); first += kBlock) {
        const auto block = labels.subspan(first, std::min(kBlock, labels.size() - first));
        bool any = false;
        for (const std::int32_t label : block) any |= rules.relevant(label);
        if (!any) continue;
        for (std::size_t i = 0; i < block.size(); ++i) {
            const bool relevant = rules.relevant(block[i]);
            hits += relevant;
            sum += static_cast<double>(relevant) * (static_cast<double>(hits) / static_cast<double>(first + i + 1));
        }
    }
    return sum;
}

// AP = Σ over relevant ranks r of (relevant up to r) / r. In a group of n ties after s documents and h hits, with m
// relevant ones, position s + i holds a relevant one with probability m/n and then expects h + 1 + (i−1)(m−1)/(n−1)
// hits (McSherry & Najork 2008, §3).
double average_precision(const RankedList& list, const Rules& rules, Scratch&) {
    const double denominator = ap_denominator(list, rules);
    if (denominator == 0) return kUndefined;
    const Position depth = rules.depth(list.size());
    if (rules.denominator == Denominator::found && !list.tied.empty()) return average_precision_of_found(list, rules);
    if (list.tied.empty()) return settled_precisions(list.labels.first(static_cast<std::size_t>(depth)), rules) / denominator;
    double sum = 0;
    Position hits = 0;
    for (Position first = 0; first < depth;) {
        const Position last = group_end(list, first), n = last - first;
        if (n == 1) {
            if (rules.relevant(label_at(list, first))) sum += static_cast<double>(++hits) / static_cast<double>(first + 1);
        } else if (const Position m = count_relevant(list, rules, first, last); m > 0) {
            const double share = static_cast<double>(m) / static_cast<double>(n);
            const double slope = static_cast<double>(m - 1) / static_cast<double>(n - 1);
            for (Position i = first; i < std::min(last, depth); ++i)
                sum += share * (static_cast<double>(hits + 1) + static_cast<double>(i - first) * slope) /
                       static_cast<double>(i + 1);
            hits += m;
        }
        first = last;
    }
    return sum / denominator;
}

// AP where every tied document stands at the last rank of its group: Σ over groups that end within the cutoff of their
// relevant documents times the precision there (scikit-learn's average_precision_score).
double average_precision_of_groups(const RankedList& list, const Rules& rules, Scratch&) {
    const double denominator = ap_denominator(list, rules);
    if (denominator == 0) return kUndefined;
    const Position depth = rules.depth(list.size());
    double sum = 0;
    Position hits = 0;
    for (Position first = 0, last = 0; first < depth; first = last) {
        last = group_end(list, first);
        const Position here = count_relevant(list, rules, first, last);
        hits += here;
        if (last <= depth) sum += static_cast<double>(here) * (static_cast<double>(hits) / static_cast<double>(last));
    }
    return sum / denominator;
}

// 1 / rank of the first relevant document. In a group of n ties with m relevant ones the first stands at place i with
// probability C(n−i, m−1) / C(n, m), reached here by the product of the chances that the places before hold none.
double reciprocal_rank(const RankedList& list, const Rules& rules, Scratch&) {
    const Position depth = rules.depth(list.size());
    for (Position first = 0; first < depth;) {
        const Position last = group_end(list, first), m = count_relevant(list, rules, first, last);
        if (m > 0) {
            double none = 1, sum = 0;
            for (Position i = first; i < std::min(last, depth) && none > 0; ++i) {
                const double hit = std::min(1.0, static_cast<double>(m) / static_cast<double>(last - i));
                sum += none * hit / static_cast<double>(i + 1);
                none *= 1 - hit;
            }
            // A group that reaches over the cutoff may hide its first relevant document, never show the next group's.
            return sum;
        }
        first = last;
    }
    return 0.0;
}

// 1 where a relevant document is within the cutoff.
double success(const RankedList& list, const Rules& rules, Scratch&) {
    const Position depth = rules.depth(list.size());
    for (Position first = 0; first < depth;) {
        const Position last = group_end(list, first), m = count_relevant(list, rules, first, last);
        if (m > 0) {
            double none = 1;
            for (Position i = first; i < std::min(last, depth); ++i)
                none *= std::max(0.0, 1 - static_cast<double>(m) / static_cast<double>(last - i));
            return 1 - none;
        }
        first = last;
    }
    return 0.0;
}

// Probability that a user stops at a document: gain / top (Chapelle et al. 2009).
double stopping(const Rules& rules, std::int32_t label, double top) { return top > 0 ? rules.gain(label) / top : 0.0; }

// ERR = Σ 1/r · R_r · Π_{i<r} (1 − R_i), and other sums over where a user stops. Over all orders of a group of n ties, the
// chance to pass i of them is m_i = e_i(1 − R) / C(n, i), with e_i the elementary symmetric polynomial; the chance to stop at
// place i is m_{i−1} − m_i. Adding the t-th document: m_i ← (t−i)/t · m_i + i/t · (1−R_t) · m_{i−1}, all within [0, 1].
template <typename Worth>
double worth_of_stopping(const RankedList& list, const Rules& rules, Scratch& scratch, Worth&& worth) {
    const Position depth = rules.depth(list.size());
    const double top = err_top(list, rules);
    double sum = 0, passed = 1;
    for (Position first = 0; first < depth && passed != 0;) {
        const Position last = group_end(list, first);
        if (last - first == 1) {
            const double stop = stopping(rules, label_at(list, first), top);
            sum += worth(passed * stop, first + 1);
            passed *= 1 - stop;
        } else {
            const auto kept = static_cast<std::size_t>(std::min(last, depth) - first);
            scratch.assign(kept + 1, 0.0);
            scratch[0] = 1;
            for (Position t = 1; t <= last - first; ++t) {
                const double pass = 1 - stopping(rules, label_at(list, first + t - 1), top);
                for (auto i = std::min(kept, static_cast<std::size_t>(t)); i > 0; --i) {
                    const double share = static_cast<double>(i) / static_cast<double>(t);
                    scratch[i] = (1 - share) * scratch[i] + share * pass * scratch[i - 1];
                }
            }
            for (std::size_t i = 1; i <= kept; ++i)
                sum += worth(passed * (scratch[i - 1] - scratch[i]), first + static_cast<Position>(i));
            passed *= scratch[kept];
        }
        first = last;
    }
    return sum;
}

double expected_reciprocal_rank(const RankedList& list, const Rules& rules, Scratch& scratch) {
    return worth_of_stopping(list, rules, scratch,
                             [](double chance, Position rank) { return chance / static_cast<double>(rank); });
}

// PFound = Σ decay^(r−1) · R_r · Π_{i<r} (1 − R_i): a user who also gives up after each document (Yandex; CatBoost).
double found_by_user(const RankedList& list, const Rules& rules, Scratch& scratch) {
    return worth_of_stopping(list, rules, scratch, [&](double chance, Position rank) {
        return chance * std::pow(rules.parameter, static_cast<double>(rank - 1));
    });
}

// RBP = (1 − p) Σ p^(r−1) over relevant ranks r (Moffat & Zobel 2008).
double rank_biased_precision(const RankedList& list, const Rules& rules, Scratch&) {
    const Position depth = rules.depth(list.size());
    const double p = rules.parameter;
    double weight = 1, sum = 0;
    for (Position first = 0; first < depth;) {
        const Position last = group_end(list, first);
        const double share = static_cast<double>(count_relevant(list, rules, first, last)) / static_cast<double>(last - first);
        for (Position i = first; i < std::min(last, depth); ++i, weight *= p) sum += share * weight;
        first = last;
    }
    return (1 - p) * sum;
}

// The same with gains instead of the 1 of a relevant document.
double rank_biased_gain(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Position depth = rules.depth(list.size());
    const double p = rules.parameter;
    fill_gains(list, rules, depth, scratch);
    double weight = 1, sum = 0;
    for (Position i = 0; i < depth; ++i, weight *= p) sum += scratch[static_cast<std::size_t>(i)] * weight;
    return (1 - p) * sum;
}

// Relevant documents among the first k.
double hits(const RankedList& list, const Rules& rules, Scratch&) {
    return expected_relevant(list, rules, rules.depth(list.size()));
}

// bpref = 1/R Σ over retrieved relevant (1 − min(N_above, b) / b), b = min(R, N): Buckley & Voorhees 2004 as trec_eval 9
// computes it. In a group of ties with j judged non-relevant ones, a relevant one has 0 … j of them above it, each
// equally likely.
double bpref(const RankedList& list, const Rules& rules, Scratch&) {
    const Position relevant = pool_relevant(list, rules);
    if (relevant == 0) return kUndefined;
    auto judged_nonrelevant = [&](std::int32_t label) { return label >= 0 && !rules.relevant(label); };
    const Position nonrelevant = std::count_if(list.pool.begin(), list.pool.end(), judged_nonrelevant);
    const Position bound = std::min(relevant, nonrelevant);
    if (nonrelevant == 0 && rules.parameter > 0) return 0.0;  // trectools
    double sum = 0;
    Position above = 0;
    for (Position first = 0; first < list.size();) {
        const Position last = group_end(list, first), hits = count_relevant(list, rules, first, last);
        Position here = 0;
        for (Position i = first; i < last; ++i) here += judged_nonrelevant(label_at(list, i));
        if (hits > 0) {
            double mean = 0;
            for (Position more = 0; more <= here; ++more) {
                const Position ahead = std::min(above + more, bound);
                mean += ahead > 0 ? 1.0 - static_cast<double>(ahead) / static_cast<double>(bound) : 1.0;
            }
            mean /= static_cast<double>(here + 1);
            for (Position i = 0; i < hits; ++i) sum += mean;
        }
        above += here;
        first = last;
    }
    return sum / static_cast<double>(relevant);
}

double retrieved(const RankedList& list, const Rules&, Scratch&) { return static_cast<double>(list.size()); }
double relevant_judged(const RankedList& list, const Rules& rules, Scratch&) {
    return static_cast<double>(pool_relevant(list, rules));
}
double relevant_retrieved(const RankedList& list, const Rules& rules, Scratch&) {
    return static_cast<double>(count_relevant(list, rules, 0, list.size()));
}

constexpr std::array<std::pair<std::string_view, Measure>, 19> kMeasures{{
    {"ndcg", ndcg},
    {"dcg", dcg},
    {"mean_ndcg", mean_ndcg},
    {"ap", average_precision},
    {"p", precision},
    {"recall", recall},
    {"r_precision", r_precision},
    {"rr", reciprocal_rank},
    {"err", expected_reciprocal_rank},
    {"pfound", found_by_user},
    {"rbp", rank_biased_precision},
    {"rbp_of_gains", rank_biased_gain},
    {"hits", hits},
    {"bpref", bpref},
    {"success", success},
    {"f", f_measure},
    {"ap_grouped", average_precision_of_groups},
    {"num_ret", retrieved},
    {"num_rel_ret", relevant_retrieved},
}};

}  // namespace

Measure find_measure(std::string_view name) {
    for (const auto& [known, measure] : kMeasures)
        if (known == name) return measure;
    if (name == "num_rel") return relevant_judged;
    if (const Measure measure = find_library_measure(name)) return measure;
    return find_trec_measure(name);
}

void measure_lists(Measure measure, const Rules& rules, std::span<const std::int32_t> labels,
                   std::span<const std::uint8_t> tied, std::span<const std::int64_t> offsets,
                   std::span<const std::int32_t> pool, std::span<const std::int64_t> pool_offsets, std::span<double> values,
                   int threads) {
    const auto queries = static_cast<std::int64_t>(values.size());
    parallel_blocks(queries, threads, 64, [&](std::int64_t first, std::int64_t last) {
        Scratch scratch;
        for (std::int64_t q = first; q < last; ++q) {
            const auto at = static_cast<std::size_t>(q);
            const auto begin = static_cast<std::size_t>(offsets[at]), end = static_cast<std::size_t>(offsets[at + 1]);
            const auto pool_begin = static_cast<std::size_t>(pool_offsets[at]);
            const auto pool_end = static_cast<std::size_t>(pool_offsets[at + 1]);
            RankedList list{labels.subspan(begin, end - begin), {}, pool.subspan(pool_begin, pool_end - pool_begin)};
            // Without ties there is one order, and no expectation to take.
            if (!tied.empty() && std::memchr(tied.data() + begin, 1, end - begin)) list.tied = tied.subspan(begin, end - begin);
            values[at] = measure(list, rules, scratch);
        }
    });
}

}  // namespace pippin
