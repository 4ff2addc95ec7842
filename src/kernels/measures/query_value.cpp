#include "measures/query_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "text/from_chars.hpp"

namespace pippin {
namespace {

// The double nearest to the decimal with so many digits, as a program that prints and reads values holds them.
double rounded(double value, int digits) {
    constexpr int kMostDigits = 700;  // no double is so small that more would change it
    char text[1024];
    const auto printed =
        std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, std::min(digits, kMostDigits));
    double read = value;
    from_chars(text, printed.ptr, read);
    return read;
}

}  // namespace

double settle(double value, const QueryValueRule& settling) {
    if (std::isnan(value)) value = settling.empty;
    if (settling.held == kHeldDouble || !std::isfinite(value)) return value;
    if (settling.held == kHeldHalfUp) return std::floor(value * 100.0 + 0.5) / 100.0;
    return settling.held == kHeldSingle ? static_cast<double>(static_cast<float>(value)) : rounded(value, settling.held);
}

void settle_values(std::span<double> values, std::span<const std::int32_t> pool, std::span<const std::int64_t> pool_offsets,
                   std::int32_t relevant_at, const QueryValueRule& settling) {
    for (std::size_t q = 0; q < values.size(); ++q) {
        const auto first = static_cast<std::size_t>(pool_offsets[q]), last = static_cast<std::size_t>(pool_offsets[q + 1]);
        values[q] = left_out(pool.subspan(first, last - first), relevant_at, settling)
                        ? std::numeric_limits<double>::quiet_NaN()
                        : settle(values[q], settling);
    }
}

}  // namespace pippin
