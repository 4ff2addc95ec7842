// Weighted sums of features, term after term, in the precision that another program computes them in.
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

// What is added up: start + Σ weights[i] · row[columns[i]], each product and each sum rounded to single precision where
// requested, and so are the features before; NaN is 0 if requested.
struct WeightedSum {
    std::span<const std::int32_t> columns;
    std::span<const double> weights;
    double start;
    bool single_features, single_sums, missing_is_zero;
};

// Returns the sum of each row of a table with `features` columns. Throws std::invalid_argument for columns out of
// range.
void linear_scores(const WeightedSum& terms, std::span<const double> table, std::int64_t features, std::span<double> scores);

}  // namespace pippin
