// A decimal number from text, correctly rounded, as std::from_chars reads it: also where the standard library (libc++ of
// macOS) has that function for whole numbers only.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <system_error>

namespace pippin {

// By a stream in the classic locale, which every library has; slower.
inline std::from_chars_result from_chars_by_stream(const char* first, const char* last, double& value) {
    const std::string text(first, last);
    if (text.empty() || text.find_first_not_of("0123456789.eE+-") != text.npos || text.front() == '+')
        return {first, std::errc::invalid_argument};
    std::istringstream in(text);
    in.imbue(std::locale::classic());
    double found = 0;
    in >> found;
    // Some libraries fail on numbers that are too small or subnormal, all on those that are too large.
    const bool largest = std::abs(found) >= std::numeric_limits<double>::max();
    const bool digits = text.find_first_of("123456789") < text.find_first_of("eE");
    if (in.fail() && !digits) return {first, std::errc::invalid_argument};
    if ((in.fail() && largest) || (digits && found == 0)) return {last, std::errc::result_out_of_range};
    in.clear(in.rdstate() & ~std::ios::failbit);
    const auto at = in.eof() ? static_cast<std::streamoff>(text.size()) : static_cast<std::streamoff>(in.tellg());
    value = found;
    return {first + at, std::errc()};
}

inline std::from_chars_result from_chars(const char* first, const char* last, double& value) {
#if defined(__cpp_lib_to_chars)
    return std::from_chars(first, last, value);
#else
    return from_chars_by_stream(first, last, value);
#endif
}

}  // namespace pippin
