#include "measures/libraries.hpp"

#include <array>
#include <utility>

#include "measures/ranked_list.hpp"

namespace pippin {
namespace {

double real(Position count) { return static_cast<double>(count); }

// Documents above the cutoff that are not relevant, over all of the list that are not.
double fall_out(const RankedList& list, const Rules& rules, Scratch&) {
    const Position others = list.size() - count_relevant(list, rules, 0, list.size());
    if (others == 0) return kUndefined;
    const Position depth = rules.depth(list.size());
    return (real(depth) - expected_relevant(list, rules, depth)) / real(others);
}

// Pairs of a relevant and another document above the cutoff in their right order, over all such pairs there; 0 where
// they are all of one class, undefined where the list is. In an open order a pair of a group is right half of the time;
// a group that reaches over the cutoff shows h of its m relevant documents with a hypergeometric chance.
double area_under_curve(const RankedList& list, const Rules& rules, Scratch&) {
    const Position relevant = count_relevant(list, rules, 0, list.size());
    if (relevant == 0 || relevant == list.size()) return kUndefined;
    const Position depth = rules.depth(list.size());
    double right = 0;
    Position hits = 0, others = 0;
    for (Position first = 0; first < depth;) {
        const Position last = group_end(list, first), n = last - first, m = count_relevant(list, rules, first, last);
        if (last > depth) {
            const Position places = depth - first;
            double expected = 0;
            for (Position h = std::max<Position>(0, places - (n - m)); h <= std::min(m, places); ++h) {
                const double pairs = real(hits + h) * real(others + places - h);
                const double wins = right + (real(hits) + 0.5 * real(h)) * real(places - h);
                if (pairs > 0) expected += chance_of(h, n, m, places) * wins / pairs;
            }
            return expected;
        }
        right += (real(hits) + 0.5 * real(m)) * real(n - m);
        hits += m;
        others += n - m;
        first = last;
    }
    return hits > 0 && others > 0 ? right / (real(hits) * real(others)) : 0.0;
}

// Pairs of a relevant and another document in the wrong order.
double ranking_loss(const RankedList& list, const Rules& rules, Scratch& scratch) {
    Rules whole = rules;
    whole.cutoff = 0;
    return 1.0 - area_under_curve(list, whole, scratch);  // undefined stays undefined
}

// How many documents with each label, counted as they come; an unjudged document counts as 0.
class Tally {
  public:
    void add(std::int32_t label) {
        for (auto& [known, count] : counts_)
            if (known == label) {
                ++count;
                return;
            }
        counts_.push_back({label, 1});
    }
    Position above(std::int32_t label) const {
        Position total = 0;
        for (const auto& [known, count] : counts_) total += known > label ? count : 0;
        return total;
    }
    // Pairs of documents with different labels.
    double pairs() const {
        double all = 0, same = 0;
        for (const auto& [known, count] : counts_) {
            all += real(count);
            same += real(count) * real(count - 1) / 2;
        }
        return all * (all - 1) / 2 - same;
    }

  private:
    std::vector<std::pair<std::int32_t, Position>> counts_;
};

std::int32_t grade_at(const RankedList& list, Position i) { return std::max(label_at(list, i), 0); }

// Pairs of documents with different labels.
double graded_pairs(const RankedList& list, const Rules&, Scratch&) {
    Tally tally;
    for (Position i = 0; i < list.size(); ++i) tally.add(grade_at(list, i));
    return tally.pairs();
}

// Those in the order of their labels, over all of them. In a group of ties a pair is right half of the time.
double ordered_pairs(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const double pairs = graded_pairs(list, rules, scratch);
    if (pairs == 0) return kUndefined;
    double right = 0;
    Tally seen;
    for (Position first = 0; first < list.size();) {
        const Position last = group_end(list, first);
        Tally here;
        for (Position i = first; i < last; ++i) {
            right += real(seen.above(grade_at(list, i)));
            here.add(grade_at(list, i));
        }
        if (last - first > 1) right += here.pairs() / 2;
        for (Position i = first; i < last; ++i) seen.add(grade_at(list, i));
        first = last;
    }
    return right / pairs;
}

double label_sum(const RankedList& list, const Rules&, Scratch&) {
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i) sum += real(grade_at(list, i));
    return sum;
}

// The mean rank of a document, each counted by its label.
double average_rank(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const double weight = label_sum(list, rules, scratch);
    if (weight == 0) return kUndefined;
    fill_worth(list, list.size(), scratch, [](std::int32_t label) { return real(std::max(label, 0)); });
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i) sum += real(i + 1) * scratch[static_cast<std::size_t>(i)];
    return sum / weight;
}

void fill_hits(const RankedList& list, const Rules& rules, Position depth, Scratch& scratch) {
    fill_worth(list, depth, scratch, [&](std::int32_t label) { return rules.relevant(label) ? 1.0 : 0.0; });
}

double harmonic(Position last) {
    double sum = 0;
    for (Position i = 1; i <= last; ++i) sum += 1.0 / real(i);
    return sum;
}

// Reciprocal ranks of all hits above the cutoff, over those of as many as there could be.
double cumulative_reciprocal_rank(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Position relevant = pool_relevant(list, rules), depth = rules.depth(list.size());
    if (relevant == 0) return kUndefined;
    fill_hits(list, rules, depth, scratch);
    double sum = 0;
    for (Position i = 0; i < depth; ++i) sum += scratch[static_cast<std::size_t>(i)] / real(i + 1);
    const Position ideal = ideal_depth(list, rules, relevant);
    return ideal > 0 ? sum / harmonic(ideal) : 0.0;
}

// The mean of the reciprocal ranks of all hits above the cutoff; 0 without one.
double mean_reciprocal_rank_of_hits(const RankedList& list, const Rules& rules, Scratch&) {
    const Position depth = rules.depth(list.size());
    double sum = 0;
    Position hits = 0;
    for (Position first = 0; first < depth;) {
        const Position last = group_end(list, first), n = last - first, m = count_relevant(list, rules, first, last);
        double places = 0;
        for (Position i = first; i < std::min(last, depth); ++i) places += 1.0 / real(i + 1);
        if (last > depth) {
            const Position seen = depth - first;
            double expected = 0;
            for (Position h = std::max<Position>(0, seen - (n - m)); h <= std::min(m, seen); ++h)
                if (hits + h > 0) expected += chance_of(h, n, m, seen) * (sum + real(h) / real(seen) * places) / real(hits + h);
            return expected;
        }
        sum += real(m) / real(n) * places;
        hits += m;
        first = last;
    }
    return hits > 0 ? sum / real(hits) : 0.0;
}

double cumulative_gain(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Position depth = rules.depth(list.size());
    fill_worth(list, depth, scratch, [&](std::int32_t label) { return rules.gain(label); });
    double sum = 0;
    for (Position i = 0; i < depth; ++i) sum += scratch[static_cast<std::size_t>(i)];
    return sum;
}

double average_gain(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Position depth = rules.depth(list.size());
    return depth > 0 ? cumulative_gain(list, rules, scratch) / real(depth) : 0.0;
}

// Hits@1, …, Hits@k, each over its rank or over R, in the mean; a short list has no more hits behind its end.
double mean_over_cutoffs(const RankedList& list, const Rules& rules, Scratch& scratch, Position relevant) {
    const Position depth = rules.depth(list.size()), cutoff = rules.cutoff > 0 ? rules.cutoff : list.size();
    fill_hits(list, rules, depth, scratch);
    double hits = 0, sum = 0;
    for (Position i = 0; i < cutoff; ++i) {
        if (i < depth) hits += scratch[static_cast<std::size_t>(i)];
        sum += hits / real(relevant > 0 ? relevant : i + 1);
    }
    return cutoff > 0 ? sum / real(cutoff) : 0.0;
}

double mean_precision(const RankedList& list, const Rules& rules, Scratch& scratch) {
    return mean_over_cutoffs(list, rules, scratch, 0);
}

double mean_recall(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Position relevant = pool_relevant(list, rules);
    return relevant > 0 ? mean_over_cutoffs(list, rules, scratch, relevant) : kUndefined;
}

// The rank of the last relevant document of the list, 0 without one. Of m that are tied with n − m others after s
// documents the last stands at s + m(n + 1)/(m + 1) in the mean.
double coverage_error(const RankedList& list, const Rules& rules, Scratch&) {
    double deepest = 0;
    for (Position first = 0; first < list.size();) {
        const Position last = group_end(list, first), n = last - first, m = count_relevant(list, rules, first, last);
        if (m > 0) deepest = real(first) + real(m) * real(n + 1) / real(m + 1);
        first = last;
    }
    return deepest;
}

// NDCG of a random order of the list: its mean gain at every rank.
double random_ndcg(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const double ideal = ideal_dcg(list, rules, scratch);
    if (ideal <= 0) return kUndefined;
    double gain = 0, discounts = 0;
    for (Position i = 0; i < list.size(); ++i) gain += rules.gain(label_at(list, i));
    for (Position i = 0; i < rules.depth(list.size()); ++i) discounts += discounted(1.0, rules, i);
    return list.size() > 0 ? gain / real(list.size()) * discounts / ideal : 0.0;
}

// RBP over that of a list that begins with all relevant documents and is no longer.
double normalised_rbp(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Position relevant = pool_relevant(list, rules), depth = rules.depth(list.size());
    if (relevant == 0) return kUndefined;
    fill_hits(list, rules, depth, scratch);
    double weight = 1, sum = 0, best = 0;
    for (Position i = 0; i < depth; ++i, weight *= rules.parameter) {
        sum += scratch[static_cast<std::size_t>(i)] * weight;
        if (i < relevant) best += weight;
    }
    return best > 0 ? sum / best : 0.0;
}

// Reciprocal rank of the first document with the largest label of the list; 0 if that label gains nothing or is beyond the
// cutoff.
double top_label_rank(const RankedList& list, const Rules& rules, Scratch&) {
    std::int32_t largest = 0;
    for (const std::int32_t label : list.labels) largest = std::max(largest, label);
    if (largest == 0) return 0.0;
    for (Position i = 0; i < rules.depth(list.size()); ++i)
        if (label_at(list, i) == largest) return 1.0 / real(i + 1);
    return 0.0;
}

// Gains of the first R documents over R, the number of relevant ones.
double gain_at_relevant(const RankedList& list, const Rules& rules, Scratch& scratch) {
    const Position relevant = pool_relevant(list, rules);
    if (relevant == 0) return kUndefined;
    Rules cut = rules;
    cut.cutoff = relevant;
    return cumulative_gain(list, cut, scratch) / real(relevant);
}

// What recall at the cutoff divides by where it divides by min(R, k).
double most_hits(const RankedList& list, const Rules& rules, Scratch&) { return real(rules.depth(pool_relevant(list, rules))); }

constexpr std::array<std::pair<std::string_view, Measure>, 19> kMeasures{{
    {"fall_out", fall_out},
    {"auc", area_under_curve},
    {"ranking_loss", ranking_loss},
    {"opa", ordered_pairs},
    {"graded_pairs", graded_pairs},
    {"arp", average_rank},
    {"label_sum", label_sum},
    {"ncrr", cumulative_reciprocal_rank},
    {"rr_hits", mean_reciprocal_rank_of_hits},
    {"cg", cumulative_gain},
    {"average_gain", average_gain},
    {"mean_p", mean_precision},
    {"mean_recall", mean_recall},
    {"coverage_error", coverage_error},
    {"random_ndcg", random_ndcg},
    {"normalised_rbp", normalised_rbp},
    {"top_rr", top_label_rank},
    {"r_gain", gain_at_relevant},
    {"most_hits", most_hits},
}};

}  // namespace

Measure find_library_measure(std::string_view name) {
    for (const auto& [known, measure] : kMeasures)
        if (known == name) return measure;
    return nullptr;
}

}  // namespace pippin
