// Structural SVM for average precision: the ranking of a query that violates the margin most, and a pass of
// block-coordinate Frank-Wolfe over the queries.
// With m relevant and n̄ other documents, Ψ(y) = 1/(m n̄) Σ_{relevant i, other j} ±(x_i − x_j), + where y puts i above j,
// and Δ(y) = 1 − AP(y); the hinge of a query is max_y Δ(y) − w·(Ψ* − Ψ(y)).
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

struct Judged {
    std::span<const std::uint8_t> relevant;  // every query has both kinds of documents
    std::span<const std::int64_t> offsets;
};

// For each query the most violated ranking y of `scores`, as losses[q] = Δ(y) and coefficients[i] = the weight of document
// i in Ψ* − Ψ(y): relevant i: 2/(m n̄) · number of others above it; other j: −2/(m n̄) · number of relevant below it.
void most_violated(const Judged& data, std::span<const double> scores, std::span<double> coefficients, std::span<double> losses,
                   int threads);

// What Frank-Wolfe carries along. weights = Σ_q blocks[q], each of `width`; losses[q] belongs to blocks[q].
struct FrankWolfe {
    std::span<double> weights;
    std::span<double> blocks;
    std::span<double> losses;
};

// One step for each query of `order`, the norm of the weights counting `regularisation`; features is a table with one row per
// document.
void frank_wolfe_pass(const Judged& data, std::span<const double> features, std::span<const std::int64_t> order,
                      double regularisation, const FrankWolfe& state);

}  // namespace pippin
