// Coordinate ascent on a measure: one weight of a linear score at a time, by a search along the line that this weight
// draws. The score of a document moves as a + t · x; the order of a query changes only where two lines cross.
#pragma once

#include <cstdint>
#include <span>

#include "measures/objective.hpp"

namespace pippin {

struct AscentSettings {
    std::int64_t steps = 25;  // of the grid, each direction; the distance doubles from step to step
    bool exact = false;       // look at every crossing instead of a grid
    bool nonneg = false;      // keep weights at 0 or above
};

// The problem: `columns` holds a feature after the other, `active` the queries whose value the order can change.
struct Slope {
    const Objective& objective;
    std::span<const double> columns;
    std::span<const std::int64_t> active;

    std::int64_t rows() const { return objective.rows(); }
    std::int64_t features() const { return static_cast<std::int64_t>(columns.size()) / rows(); }
    std::span<const double> column(std::int64_t f) const {
        return columns.subspan(static_cast<std::size_t>(f * rows()), static_cast<std::size_t>(rows()));
    }
};

// scores = Σ weight · column, and the sum of the measure over active queries.
double rescore(const Slope& slope, std::span<const double> weights, std::span<double> scores, int threads);

// Tries the listed features in turn. An accepted step raises the sum of the measure, after which Σ |weight| is 1 again.
// Returns the sum at the end; weights and scores follow.
double ascend(const Slope& slope, const AscentSettings& settings, std::span<const std::int32_t> features,
              std::span<double> weights, std::span<double> scores, int threads);

}  // namespace pippin
