// What a measure wins or loses when two documents of a ranked list swap places, in closed form, and the forces λ on
// scores that follow from it: LambdaRank's gradient and its derivative. The vocabulary is that of measures/measures.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "measures/measures.hpp"

namespace pippin {

// The measure that weighs a pair; `pairs`: every pair of unlike labels weighs 1 (RankNet).
enum class Target : int { pairs, ndcg, dcg, p, recall, rbp, ap, rr, err };

std::optional<Target> find_target(std::string_view name);

// The weight of a document by position for the targets that are sums of worth · weight (NDCG, DCG, P, recall, RBP): 0 from
// the cutoff on, or, with keep_beyond, the discount as if nothing were cut. Empty for the others.
std::vector<double> rank_weights(Target target, const Rules& rules, std::int64_t depth, bool keep_beyond);

// What the target's raw change in a query is multiplied by: 1 / ideal DCG, 1 / R, …; 0 where no swap can change the value
// (nothing relevant, or a list too short to count). It depends on labels, not on their order.
double swap_scale(Target target, const RankedList& list, const Rules& rules, Scratch& scratch);

// Working memory of one thread.
struct SwapScratch {
    std::vector<double> worth, sums, delta, odds, scores, gradient, hessian;
    double forces = 0;  // Σ over pairs of |Δ| ρ, before σ and the scale
    std::vector<std::int32_t> labels;
};

// The change of the measure when the documents at positions a and b > a swap places, before `swap_scale`, for every b:
// changes[b], b = a + 1 … n − 1. `weights` as from rank_weights.
void swap_changes(Target target, const RankedList& list, const Rules& rules, std::span<const double> weights, std::int64_t a,
                  SwapScratch& scratch, std::span<double> changes);

// The change of the measure when the documents at positions a and b swap places: value after − value before.
double swap_delta(Target target, const RankedList& list, const Rules& rules, std::int64_t a, std::int64_t b);

// Gradient and second derivative of the cost whose forces are λ. For every pair of a query with change Δ ≠ 0, where the
// measure wants document i above j, and ρ = 1 / (1 + exp(σ (s_i − s_j))):
//   gradient_i −= σ |Δ| ρ, gradient_j += σ |Δ| ρ, hessian_i and hessian_j += σ² |Δ| ρ (1 − ρ).
// `order` holds each query's rows in rank order (as from order_lists), `scales` one swap_scale per query. With `normalise`,
// both are multiplied by log2(1 + S) / S in a query, S = 2 Σ σ |Δ| ρ over its pairs, as LightGBM's lambdarank_norm does: a
// query of many pairs then pulls little more than one of few. With `damp`, |Δ| of a pair is divided by 0.01 + |s_i − s_j|,
// unless all scores of the query are equal, as LightGBM does too: pairs that are far apart are left alone. Parallel over
// queries; sums run down the ranked list.
void lambdas(Target target, const Rules& rules, std::span<const double> weights, std::span<const double> scores,
             std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets, std::span<const std::int64_t> order,
             std::span<const double> scales, double sigma, bool normalise, bool damp, std::span<double> gradient,
             std::span<double> hessian, int threads);

}  // namespace pippin
