// Sums over all pairs of a query's documents with different labels, in O(n log n) instead of O(n²): the pairwise hinge
// loss of scores, its gradient, and its (generalised) second derivative times a table of vectors.
// A pair (better i, worse j) is active where its margin is not kept: s_j + 1 > s_i.
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

// Documents of queries; levels are the labels of a query counted from 0 without gaps.
struct Graded {
    std::span<const std::int32_t> levels;
    std::span<const std::int64_t> offsets;
    std::span<const double> weights;  // of a pair, by query
};

// levels[i], and pairs[q]: how many pairs of documents of query q have different labels.
void grade(std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets, std::span<std::int32_t> levels,
           std::span<double> pairs, int threads);

// values[q] = weight Σ_pairs h or h², h = max(0, 1 − s_i + s_j); gradient[i] = ∂/∂s_i. order: positions within the query
// by ascending score, which pair_products wants back.
void pair_losses(const Graded& data, std::span<const double> scores, bool squared, std::span<double> values,
                 std::span<double> gradient, std::span<std::int32_t> order, int threads);

// The second derivative of the squared hinge at `scores` times each column of rows (n × width):
// products[i] = 2 weight ((l⁺ + l⁻) rows[i] − Σ rows[j]), over the l⁺ + l⁻ documents j in an active pair with i.
void pair_products(const Graded& data, std::span<const double> scores, std::span<const std::int32_t> order,
                   std::span<const double> rows, std::int64_t width, std::span<double> products, int threads);

}  // namespace pippin
