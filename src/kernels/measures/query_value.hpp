// What a query's value counts in the mean: the one rule for values that are undefined, for queries in which nothing is
// relevant, and for the precision in which a value is held. Evaluation and training both settle values here.
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

// Precision of a value before the mean: double, single, or a number of digits.
inline constexpr int kHeldDouble = -1;
inline constexpr int kHeldSingle = -2;
inline constexpr int kHeldHalfUp = -3;  // two digits, halves up, as Java rounds

struct QueryValueRule {
    double empty = 0.0;       // value where the measure is undefined; NaN: left undefined
    bool skip_empty = false;  // queries without a relevant document are left out
    int held = kHeldDouble;
};

// Whether a query is left out of the mean, whatever its value; `pool` holds all judged labels, descending.
inline bool left_out(std::span<const std::int32_t> pool, std::int32_t relevant_at, const QueryValueRule& settling) {
    return settling.skip_empty && (pool.empty() || pool.front() < relevant_at);
}

// What the value of a query that is not left out counts; NaN: it stays out of the mean.
double settle(double value, const QueryValueRule& settling);

// The same for the values of all queries, in place.
void settle_values(std::span<double> values, std::span<const std::int32_t> pool, std::span<const std::int64_t> pool_offsets,
                   std::int32_t relevant_at, const QueryValueRule& settling);

}  // namespace pippin
