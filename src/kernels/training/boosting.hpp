// Pairs of documents of one query with different labels, as the boosting rankers weigh them, and the search for the
// threshold on a feature that separates them best. Rows of a query stand in descending order of label.
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

// Query q has the blocks queries[q] … queries[q+1]; block b, the rows cuts[b] … cuts[b+1], holds documents of one label,
// and earlier blocks of a query hold higher labels. A pair of query q weighs weights[q] to begin with.
struct Levels {
    std::span<const std::int64_t> cuts, queries;
    std::span<const double> weights;

    std::int64_t count() const { return static_cast<std::int64_t>(queries.size()) - 1; }
    std::int64_t rows() const { return cuts.back(); }
    std::int64_t cut(std::int64_t b) const { return cuts[static_cast<std::size_t>(b)]; }
    std::int64_t block(std::int64_t q) const { return queries[static_cast<std::size_t>(q)]; }
    std::int64_t first(std::int64_t q) const { return cut(block(q)); }
    std::int64_t last(std::int64_t q) const { return cut(block(q + 1)); }
};

// Features cut by thresholds: row i of column c has code codes[c·rows + i], and the threshold t < counts[c] of that column
// lies below the row's value exactly where the code is above t.
struct Codes {
    std::span<const std::uint8_t> codes;
    std::span<const std::int32_t> counts;

    std::int64_t columns() const { return static_cast<std::int64_t>(counts.size()); }
};

struct Stump {
    std::int64_t column = -1;  // −1: nothing separates any pair
    std::int64_t threshold = 0;
    double gain = 0.0;         // Σ potential · h for a potential; √plus − √minus for weights of pairs
    double plus = 0.0, minus = 0.0;
};

// RankBoost's distribution D(i, j) = weight · e^(H_j − H_i) / Z over pairs i ≻ j, kept as a product of two numbers a row.
struct Mass {
    double total = 0.0;  // Z · e^(−shift)
    double shift = 0.0;  // what was taken off the exponents so that nothing overflows
};

// potential[i] = Σ_j D(i, j) − Σ_j D(j, i); up[i], down[i] with D(i, j) = weight · down[i] · up[j] / total.
Mass boost_potential(const Levels& levels, std::span<const double> scores, std::span<double> potential, std::span<double> up,
                     std::span<double> down, int threads);

// The column and threshold with the largest |Σ potential · [code > threshold]|, or the largest sum if only positive ones
// count; the first of equals.
Stump search_potential(const Codes& codes, std::span<const double> potential, bool positive_only, int threads);

// The column and threshold with the least W0 + 2 √(W₊ W₋): all weights of pairs exactly, in O(rows · labels) per column.
// order[c·rows + k]: the rows of each query by descending code of column c.
Stump search_exact(const Levels& levels, const Codes& codes, std::span<const std::int32_t> order, std::span<const double> up,
                   std::span<const double> down, double total, bool positive_only, int threads);

// order as search_exact wants it.
void order_codes(const Levels& levels, const Codes& codes, std::span<std::int32_t> order, int threads);

// FRank's loss Σ weight · (1 − (1 + e^−S)^−½), S = H_i − H_j, over pairs i ≻ j, and potential[i] = Σ_j W(i, j) − Σ_j W(j, i),
// W = weight · e^−S (1 + e^−S)^−3/2 (left out where `potential` is empty).
double fidelity(const Levels& levels, std::span<const double> scores, std::span<double> potential, int threads);

struct Split {
    double plus = 0.0, minus = 0.0;  // Σ W over the pairs that h puts right, and wrong
    double curvature = 0.0;          // second derivative of the loss along h
};

// The weights of the pairs that h separates, for scores H + step · h.
Split fidelity_split(const Levels& levels, std::span<const double> scores, std::span<const std::uint8_t> h, double step,
                     int threads);

// For every column the threshold with the largest |√W₊ − √W₋|: stumps[c].
void fidelity_search(const Levels& levels, const Codes& codes, std::span<const double> scores, std::span<Stump> stumps,
                     int threads);

// sums[r] = Σ_i table[r, i] · weights[i], added from left to right.
void weighted_sums(std::span<const double> table, std::span<const double> weights, std::span<double> sums, int threads);

}  // namespace pippin
