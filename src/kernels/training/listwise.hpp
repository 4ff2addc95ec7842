// Losses of whole lists of scores and their gradients: the cross entropy of ListNet, the likelihood of ListMLE, the
// smooth NDCG of ApproxNDCG, and RankNet's pairs of equal labels. Lower is better. Parallel over queries.
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

// What a list is: scores and one row's stretch [offsets[q], offsets[q + 1]) a query. Losses are by query, gradients by row.
struct ScoredLists {
    std::span<const double> scores;
    std::span<const std::int64_t> offsets;
    std::span<double> losses;
    std::span<double> gradient;
    int threads;
};

// −Σ p_i ln softmax(s)_i; the targets p of a query add up to 1.
void cross_entropy(const ScoredLists& lists, std::span<const double> targets);

// Σ_t [ln Σ_{k≥t} e^{s(k)} − s(t)] over the first `depth` places (all if 0) of the order `order`, which holds rows.
void list_likelihood(const ScoredLists& lists, std::span<const std::int64_t> order, std::int64_t depth);

enum class Discount : std::uint8_t { log2, letor, reciprocal };

// −scale_q Σ g_i d(π_i) with the smooth rank π_i = 1 + Σ_{j≠i} 1 / (1 + e^{α (s_i − s_j)}).
void approx_ndcg(const ScoredLists& lists, std::span<const double> gains, std::span<const double> scales, double alpha,
                 Discount discount);

// Σ over pairs of equal labels of ln(2 cosh(σ (s_i − s_j) / 2)): RankNet's cost with target ½.
void tied_pairs(const ScoredLists& lists, std::span<const std::int32_t> labels, double sigma);

}  // namespace pippin
