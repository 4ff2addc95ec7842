#include "training/lambdas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "parallel.hpp"

namespace pippin {
namespace {

using Position = std::int64_t;

std::size_t at(Position i) { return static_cast<std::size_t>(i); }

// Beyond this range of σ · score, exponentials of single scores would leave the doubles.
constexpr double kLargestRange = 600;
// What is added to the distance of two scores before it divides, as in LightGBM.
constexpr double kNearest = 0.01;

constexpr std::array<std::pair<std::string_view, Target>, 9> kTargets{{
    {"pairs", Target::pairs},
    {"ndcg", Target::ndcg},
    {"dcg", Target::dcg},
    {"p", Target::p},
    {"recall", Target::recall},
    {"rbp", Target::rbp},
    {"ap", Target::ap},
    {"rr", Target::rr},
    {"err", Target::err},
}};

// Every class below: `rows` positions from the top can change the value by a swap with a lower one; row(a, change)
// fills change[b] for b > a.

// Σ worth · weight: Δ = (worth_b − worth_a) (weight_a − weight_b).
class Linear {
  public:
    Linear(Target target, const RankedList& list, const Rules& rules, std::span<const double> weights,
           std::vector<double>& worth)
        : rows(rules.depth(list.size())), size_(list.size()), weights_(weights) {
        const bool graded = target == Target::ndcg || target == Target::dcg;
        worth.resize(list.labels.size());
        for (std::size_t i = 0; i < worth.size(); ++i)
            worth[i] = graded ? rules.gain(list.labels[i]) : static_cast<double>(rules.relevant(list.labels[i]));
        worth_ = worth;
    }
    void row(Position a, double* change) const {
        const double worth = worth_[at(a)], weight = weights_[at(a)];
        for (Position b = a + 1; b < size_; ++b) change[b] = (worth_[at(b)] - worth) * (weight - weights_[at(b)]);
    }
    Position rows;

  private:
    Position size_;
    std::span<const double> weights_, worth_;
};

// 1 for every pair, towards the higher label.
class Pairs {
  public:
    explicit Pairs(const RankedList& list) : rows(list.size()), labels_(list.labels) {}
    void row(Position a, double* change) const {
        for (Position b = a + 1; b < rows; ++b)
            change[b] = static_cast<double>((labels_[at(b)] > labels_[at(a)]) - (labels_[at(b)] < labels_[at(a)]));
    }
    Position rows;

  private:
    std::span<const std::int32_t> labels_;
};

// AP: with l = 1 for relevant, c_r the relevant among the first r, S(r) = Σ_{t≤r} l_t / t and δ = l_b − l_a,
// Δ·R = ((c_a + δ) l_b − c_a l_a) / a + δ (S(b−1) − S(a)) − δ c_b / b; the last term is absent for a rank b beyond the cutoff
// k, and its middle one ends at S(k).
class AveragePrecision {
  public:
    AveragePrecision(const RankedList& list, const Rules& rules, std::vector<double>& relevant, std::vector<double>& sums)
        : rows(rules.depth(list.size())), size_(list.size()) {
        const std::size_t size = list.labels.size();
        relevant.resize(size);
        sums.assign(2 * (size + 1), 0.0);
        double* counts = sums.data() + size + 1;
        for (std::size_t i = 0; i < size; ++i) {
            relevant[i] = static_cast<double>(rules.relevant(list.labels[i]));
            counts[i + 1] = counts[i] + relevant[i];
            sums[i + 1] = sums[i] + relevant[i] / static_cast<double>(i + 1);
        }
        relevant_ = relevant.data();
        counts_ = counts;
        sums_ = sums.data();
    }
    void row(Position a, double* change) const {
        const double own = relevant_[a], hits = counts_[a + 1], rank = static_cast<double>(a + 1);
        for (Position b = a + 1; b < size_; ++b) {
            const double delta = relevant_[b] - own;
            double sum =
                ((hits + delta) * relevant_[b] - hits * own) / rank + delta * (sums_[std::min(b, rows)] - sums_[a + 1]);
            if (b < rows) sum -= delta * counts_[b + 1] / static_cast<double>(b + 1);
            change[b] = delta == 0 ? 0.0 : sum;
        }
    }
    Position rows;

  private:
    Position size_;
    const double *relevant_, *counts_, *sums_;
};

// RR: a relevant document leaves the first relevant rank f, or comes to a rank above it.
class ReciprocalRank {
  public:
    ReciprocalRank(const RankedList& list, const Rules& rules) : list_(list), rules_(rules), depth_(rules.depth(list.size())) {
        first_ = next(0);
        second_ = next(first_ + 1);
        rows = std::min(first_ + 1, depth_);
    }
    void row(Position a, double* change) const {
        for (Position b = a + 1; b < list_.size(); ++b) {
            const bool relevant = rules_.relevant(list_.labels[at(b)]);
            if (a == first_) change[b] = relevant ? 0.0 : value(std::min(second_, b)) - value(a);
            else change[b] = relevant ? value(a) - value(first_) : 0.0;
        }
    }
    Position rows;

  private:
    Position next(Position i) const {
        while (i < list_.size() && !rules_.relevant(list_.labels[at(i)])) ++i;
        return i;
    }
    double value(Position i) const { return i < depth_ ? 1.0 / static_cast<double>(i + 1) : 0.0; }

    const RankedList& list_;
    const Rules& rules_;
    Position depth_, first_, second_;
};

// ERR: with P_a = Π_{t<a} (1 − R_t), A = Σ_{a<t<b} (R_t / t) Π_{a<u<t} (1 − R_u) and B = Π_{a<t<b} (1 − R_t),
// Δ = P_a (R_b − R_a) (1/a − A − B/b); beyond the cutoff the last term falls away and A stops there.
class ExpectedReciprocalRank {
  public:
    ExpectedReciprocalRank(const RankedList& list, const Rules& rules, std::vector<double>& stops, std::vector<double>& passed)
        : rows(rules.depth(list.size())), size_(list.size()) {
        const double top = err_top(list, rules);
        stops.resize(list.labels.size());
        passed.resize(list.labels.size() + 1);
        passed[0] = 1;
        for (std::size_t i = 0; i < stops.size(); ++i) {
            stops[i] = top > 0 ? rules.gain(list.labels[i]) / top : 0.0;
            passed[i + 1] = passed[i] * (1 - stops[i]);
        }
        stops_ = stops.data();
        passed_ = passed.data();
    }
    void row(Position a, double* change) const {
        double between = 0, through = 1;
        for (Position b = a + 1; b < size_; ++b) {
            const bool seen = b < rows;
            const double last = seen ? through / static_cast<double>(b + 1) : 0.0;
            change[b] = passed_[a] * (stops_[b] - stops_[a]) * (1.0 / static_cast<double>(a + 1) - between - last);
            if (seen) {
                between += stops_[b] / static_cast<double>(b + 1) * through;
                through *= 1 - stops_[b];
            }
        }
    }
    Position rows;

  private:
    Position size_;
    const double *stops_, *passed_;
};

// Calls visit(changes) with the class of this target.
template <typename Visit>
void with_changes(Target target, const RankedList& list, const Rules& rules, std::span<const double> weights,
                  SwapScratch& scratch, Visit&& visit) {
    switch (target) {
        case Target::pairs: return visit(Pairs(list));
        case Target::ap: return visit(AveragePrecision(list, rules, scratch.worth, scratch.sums));
        case Target::rr: return visit(ReciprocalRank(list, rules));
        case Target::err: return visit(ExpectedReciprocalRank(list, rules, scratch.worth, scratch.sums));
        default: return visit(Linear(target, list, rules, weights, scratch.worth));
    }
}

// One row of pairs: the document at position a against all below it. Forces of documents below go to the arrays, the
// sum of a's own is returned to it at the end, so that the loop over b does not carry a sum and can be vectorised.
// share(b, up) is ρ of the pair; up: b is the better one. The sum of all forces' sizes is returned.
template <typename Share>
double push(Position a, Position size, const double* change, double* own, double* gradient, double* hessian, Share&& share) {
    for (Position b = a + 1; b < size; ++b) {
        const double rho = share(b, change[b] > 0);
        const double force = change[b] * rho, curve = std::abs(force) * (1 - rho);
        own[2 * b] = force;
        own[2 * b + 1] = curve;
        gradient[b] -= force;
        hessian[b] += curve;
    }
    double sum = 0, curves = 0, sizes = 0;
    for (Position b = a + 1; b < size; ++b) {
        sum += own[2 * b];
        curves += own[2 * b + 1];
        sizes += std::abs(own[2 * b]);
    }
    gradient[a] += sum;
    hessian[a] += curves;
    return sizes;
}

// Forces within one query, in rank order, before σ and the scale; scratch.odds holds σ · score by rank, scratch.scores the
// scores where pairs count less the further they are apart.
template <typename Changes>
void push_query(const Changes& changes, Position size, SwapScratch& scratch) {
    auto& odds = scratch.odds;
    scratch.forces = 0;
    scratch.delta.resize(3 * at(size));
    double *change = scratch.delta.data(), *own = change + size;
    double *gradient = scratch.gradient.data(), *hessian = scratch.hessian.data();
    const auto [lowest, highest] = std::minmax_element(odds.begin(), odds.end());
    const double middle = (*lowest + *highest) / 2;
    const bool narrow = *highest - *lowest <= kLargestRange, damped = !scratch.scores.empty() && *lowest != *highest;
    if (narrow) {  // one exponential per document instead of one per pair
        for (double& value : odds) value = std::exp(value - middle);
    }
    for (Position a = 0; a < std::min(changes.rows, size - 1); ++a) {
        changes.row(a, change);
        if (damped)
            for (Position b = a + 1; b < size; ++b)
                change[b] /= kNearest + std::abs(scratch.scores[at(a)] - scratch.scores[at(b)]);
        const double top = odds[at(a)];
        if (narrow)
            scratch.forces += push(a, size, change, own, gradient, hessian,
                                   [&](Position b, bool up) { return (up ? top : odds[at(b)]) / (top + odds[at(b)]); });
        else
            scratch.forces += push(a, size, change, own, gradient, hessian, [&](Position b, bool up) {
                return 1 / (1 + std::exp(up ? odds[at(b)] - top : top - odds[at(b)]));
            });
    }
}

}  // namespace

std::optional<Target> find_target(std::string_view name) {
    for (const auto& [known, target] : kTargets)
        if (known == name) return target;
    return std::nullopt;
}

std::vector<double> rank_weights(Target target, const Rules& rules, std::int64_t depth, bool keep_beyond) {
    std::vector<double> weights;
    if (target == Target::pairs || target == Target::ap || target == Target::rr || target == Target::err) return weights;
    weights.assign(at(depth), 0.0);
    double persistence = 1 - rules.parameter;
    for (Position i = 0; i < depth && (keep_beyond || rules.cutoff == 0 || i < rules.cutoff); ++i) {
        if (target == Target::p) weights[at(i)] = 1 / static_cast<double>(rules.cutoff > 0 ? rules.cutoff : depth);
        else if (target == Target::recall) weights[at(i)] = 1;
        else if (target == Target::rbp) weights[at(i)] = std::exchange(persistence, persistence * rules.parameter);
        else weights[at(i)] = rules.multipliers[at(i)] / rules.divisors[at(i)];
    }
    return weights;
}

double swap_scale(Target target, const RankedList& list, const Rules& rules, Scratch& scratch) {
    double denominator = 1;
    if (target == Target::ndcg || target == Target::dcg) {
        if (too_short(list, rules)) return 0;
        if (target == Target::ndcg) denominator = ideal_dcg(list, rules, scratch);
    } else if (target == Target::ap || target == Target::recall) {
        Rules defined = rules;
        defined.undefined_at_cutoff = false;
        if (target == Target::recall)
            defined.denominator =
                rules.recall_denominator == RecallDenominator::cutoff ? Denominator::judged_at_cutoff : Denominator::judged;
        denominator = ap_denominator(list, defined);
    }
    return denominator > 0 ? 1 / denominator : 0;
}

void swap_changes(Target target, const RankedList& list, const Rules& rules, std::span<const double> weights, std::int64_t a,
                  SwapScratch& scratch, std::span<double> changes) {
    with_changes(target, list, rules, weights, scratch, [&](const auto& form) {
        if (a < form.rows) form.row(a, changes.data());
        else std::fill(changes.begin() + a + 1, changes.end(), 0.0);
    });
}

double swap_delta(Target target, const RankedList& list, const Rules& rules, std::int64_t a, std::int64_t b) {
    if (a == b) return 0;
    SwapScratch scratch;
    std::vector<double> changes(list.labels.size());
    const auto weights = rank_weights(target, rules, list.size(), false);
    swap_changes(target, list, rules, weights, std::min(a, b), scratch, changes);
    Scratch memory;
    return changes[at(std::max(a, b))] * swap_scale(target, list, rules, memory);
}

void lambdas(Target target, const Rules& rules, std::span<const double> weights, std::span<const double> scores,
             std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets, std::span<const std::int64_t> order,
             std::span<const double> scales, double sigma, bool normalise, bool damp, std::span<double> gradient,
             std::span<double> hessian, int threads) {
    parallel_blocks(static_cast<Position>(scales.size()), threads, 16, [&](Position first, Position last) {
        SwapScratch scratch;
        for (Position q = first; q < last; ++q) {
            const auto begin = at(offsets[at(q)]), size = at(offsets[at(q + 1)]) - begin;
            const double scale = scales[at(q)];
            std::fill_n(gradient.begin() + static_cast<Position>(begin), size, 0.0);
            std::fill_n(hessian.begin() + static_cast<Position>(begin), size, 0.0);
            if (scale == 0 || size < 2) continue;
            scratch.labels.resize(size);
            scratch.odds.resize(size);
            scratch.scores.resize(damp ? size : 0);
            for (std::size_t i = 0; i < size; ++i) {
                const auto row = at(order[begin + i]);
                scratch.labels[i] = labels[row];
                scratch.odds[i] = sigma * scores[row];
                if (damp) scratch.scores[i] = scores[row];
            }
            scratch.gradient.assign(size, 0.0);
            scratch.hessian.assign(size, 0.0);
            const RankedList list{scratch.labels, {}, scratch.labels};  // every label of a data set is judged
            with_changes(target, list, rules, weights, scratch,
                         [&](const auto& changes) { push_query(changes, list.size(), scratch); });
            const double sum = 2 * sigma * std::abs(scale) * scratch.forces;
            const double norm = normalise && sum > 0 ? std::log2(1 + sum) / sum : 1;
            for (std::size_t i = 0; i < size; ++i) {
                gradient[at(order[begin + i])] = norm * (sigma * scale * scratch.gradient[i]);
                hessian[at(order[begin + i])] = norm * (sigma * sigma * scale * scratch.hessian[i]);
            }
        }
    });
}

}  // namespace pippin
