#include "text/decimals.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pippin {
namespace {

constexpr double kPlain = 1e9;  // below, a double is nearer to its own millionth than to any other
constexpr std::size_t kLongest = 400;  // characters of the largest double

char* append(char* at, double value) {
    if (std::isnan(value)) return std::copy_n("NULL", 4, at);
    if (!(std::abs(value) < kPlain)) return std::to_chars(at, at + kLongest, value, std::chars_format::fixed, 6).ptr;
    std::int64_t millionths = std::llround(std::abs(value) * 1e6);
    if (std::signbit(value)) *at++ = '-';
    at = std::to_chars(at, at + kLongest, millionths / 1'000'000).ptr;
    millionths %= 1'000'000;
    *at = '.';
    for (int place = 6; place > 0; --place, millionths /= 10) at[place] = static_cast<char>('0' + millionths % 10);
    return at + 7;
}

}  // namespace

std::string format_decimals(std::span<const double> table, const std::vector<Column>& columns, std::span<std::int64_t> ends) {
    std::string text;
    char number[kLongest];
    std::size_t place = 0;
    for (std::int64_t& end : ends) {
        for (const Column& column : columns) {
            text += column.before;
            if (column.printed) text.append(number, append(number, table[place]));
            ++place;
        }
        end = static_cast<std::int64_t>(text.size());
    }
    return text;
}

}  // namespace pippin
