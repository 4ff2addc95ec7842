#include "text/text.hpp"

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "text/from_chars.hpp"

namespace pippin {
namespace {

constexpr std::int64_t kPiece = 1 << 20;

// Sixteen bytes that are worked on together.
using Lanes = std::uint8_t __attribute__((vector_size(16)));

Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }

// Newlines, and whether there are bytes that need a closer look. Of most bytes only the smallest ever seen is kept: as it
// is for NUL and what else stands before the tab, and, 14 being taken from it, for what stands between the return and the
// blank; the bytes between these two stretches are large numbers then.
Census census(const std::uint8_t* p, std::int64_t size) {
    constexpr std::int64_t kLanes = sizeof(Lanes), kRounds = 255;
    constexpr std::uint8_t kTab = '\t', kBehindReturn = '\r' + 1, kBetween = ' ' - kBehindReturn;
    Census all;
    Lanes high{}, least = ~Lanes{}, least_behind = ~Lanes{};
    const auto look = [&](Lanes bytes) {
        high |= bytes;
        least = smaller(least, bytes);
        least_behind = smaller(least_behind, bytes - kBehindReturn);
    };
    while (size >= kLanes) {
        const std::int64_t rounds = std::min(kRounds, size / kLanes);
        Lanes newlines{};  // at most 255 in each lane
        for (std::int64_t r = 0; r < rounds; ++r, p += kLanes) {
            Lanes bytes;
            std::memcpy(&bytes, p, kLanes);
            look(bytes);
            newlines -= static_cast<Lanes>(bytes == '\n');
        }
        for (std::int64_t i = 0; i < kLanes; ++i) all.newlines += newlines[i];
        size -= rounds * kLanes;
    }
    Lanes rest = ~Lanes{} & ' ';
    if (size) std::memcpy(&rest, p, static_cast<std::size_t>(size));  // an empty text may be a null pointer
    look(rest);
    for (std::int64_t i = 0; i < kLanes; ++i) {
        all.newlines += rest[i] == '\n';
        all.high |= high[i] >= 0x80;
        all.zero |= least[i] == 0;
        all.controls |= least[i] < kTab || least_behind[i] < kBetween;
    }
    return all;
}

// The length of the UTF-8 character at p, or 0 if it is invalid (Unicode 15, table 3-7).
std::int64_t utf8_length(const std::uint8_t* p, std::int64_t left) {
    const auto in = [&](std::int64_t i, int low, int high) { return i < left && p[i] >= low && p[i] <= high; };
    const int c = p[0];
    if (c < 0x80) return c != 0;
    if (c >= 0xC2 && c <= 0xDF) return in(1, 0x80, 0xBF) ? 2 : 0;
    if (c >= 0xE0 && c <= 0xEF) return in(1, c == 0xE0 ? 0xA0 : 0x80, c == 0xED ? 0x9F : 0xBF) && in(2, 0x80, 0xBF) ? 3 : 0;
    if (c >= 0xF0 && c <= 0xF4)
        return in(1, c == 0xF0 ? 0x90 : 0x80, c == 0xF4 ? 0x8F : 0xBF) && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
    return 0;
}

void require_text(const std::uint8_t* base, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last;) {
        const std::int64_t length = utf8_length(base + i, last - i);
        if (length == 0)
            throw TextError(i, base[i] == 0 ? "NUL byte; the file is not UTF-8 text"
                                            : "byte is not valid UTF-8; convert the file to UTF-8");
        i += length;
    }
}

bool same_word(std::string_view token, std::string_view lower) {
    return token.size() == lower.size() &&
           std::equal(token.begin(), token.end(), lower.begin(), [](char a, char b) { return (a | 0x20) == b; });
}

std::string padded(std::string_view token) {
    std::string copy(token);
    return copy.append(kPadding, '\n');
}

double slow_number(const char* first, const char* last) {
    double value = 0;
    if (from_chars(first, last, value).ec != std::errc::result_out_of_range) return value;
    // Too large or too small: the power of ten of the first digit that is not 0 decides.
    const char* const mark = std::find_if(first, last, [](char c) { return (c | 0x20) == 'e'; });
    const char* const point = std::find(first, mark, '.');
    const char* const digit = std::find_if(first, mark, [](char c) { return c != '0' && c != '.'; });
    std::int64_t power = digit < point ? point - digit : point - digit + 1;
    if (mark != last) {
        const char* p = mark + 1;
        const bool minus = *p == '-';
        if (minus || *p == '+') ++p;
        std::int64_t written = 0;
        for (; p < last && written < (std::int64_t{1} << 40); ++p) written = written * 10 + (*p - '0');
        power += minus ? -written : written;
    }
    return power > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

}  // namespace

std::int64_t count_newlines(Bytes text) { return census(text.data(), static_cast<std::int64_t>(text.size())).newlines; }

std::int64_t longest_text(Bytes page) {
    std::uint32_t longest = 0, length = 0;
    for (std::size_t at = 0; page.size() - at >= sizeof(length); at += std::min<std::size_t>(length, page.size() - at)) {
        std::memcpy(&length, page.data() + at, sizeof(length));
        longest = std::max(longest, length);
        at += sizeof(length);
    }
    return longest;
}

std::int64_t line_at(Bytes text, std::int64_t offset) {
    return 1 + count_newlines(text.first(std::min(static_cast<std::size_t>(offset), text.size())));
}

Pieces cut_text(Bytes text, bool keep_mark) {
    const auto size = static_cast<std::int64_t>(text.size());
    const bool marked = !keep_mark && size >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF;
    Pieces pieces{{marked ? 3 : 0}, {}, false};
    while (pieces.cuts.back() < size) {
        // From the last cut on, so that a line of any length is looked through once.
        std::int64_t cut = std::min(size, pieces.cuts.back() + kPiece);
        const void* newline = std::memchr(text.data() + cut, '\n', static_cast<std::size_t>(size - cut));
        cut = newline ? static_cast<const std::uint8_t*>(newline) + 1 - text.data() : size;
        pieces.cuts.push_back(cut);
    }
    pieces.rows.assign(pieces.cuts.size(), 0);
    return pieces;
}

Census check_text(Bytes text, std::int64_t first, std::int64_t last, bool lenient) {
    const Census found = census(text.data() + first, last - first);
    if (!lenient && (found.high || found.zero)) require_text(text.data(), first, last);
    return found;
}

void count_lines(Bytes text, Pieces& pieces, bool lenient, int threads) {
    std::atomic<bool> controls = false;
    each_piece(pieces, threads, [&](std::int64_t piece) {
        const std::int64_t first = pieces.cuts[static_cast<std::size_t>(piece)];
        const std::int64_t last = pieces.cuts[static_cast<std::size_t>(piece) + 1];
        const Census found = check_text(text, first, last, lenient);
        if (found.controls) controls = true;
        pieces.rows[static_cast<std::size_t>(piece) + 1] = found.newlines + (text[static_cast<std::size_t>(last) - 1] != '\n');
    });
    pieces.controls = controls;
    for (std::size_t i = 1; i < pieces.rows.size(); ++i) pieces.rows[i] += pieces.rows[i - 1];
}

std::string quoted(std::string_view token) {
    constexpr std::size_t kShown = 40;
    const bool cut = token.size() > kShown;
    std::size_t end = std::min(token.size(), kShown);
    while (cut && end > 0 && (static_cast<unsigned char>(token[end]) & 0xC0) == 0x80) --end;
    std::string text = "'";
    for (const char c : token.substr(0, end)) text += is_space(c) && c != ' ' ? '?' : c;
    return text + (cut ? "…'" : "'");
}

std::vector<Segment> join_segments(Bytes text, const std::vector<std::vector<Segment>>& parts,
                                   std::span<const std::int64_t> first_rows) {
    const auto id = [&](const Segment& s) {
        return std::string_view(reinterpret_cast<const char*>(text.data()) + s.start, static_cast<std::size_t>(s.length));
    };
    std::vector<Segment> all;
    for (std::size_t part = 0; part < parts.size(); ++part)
        for (const Segment& s : parts[part])
            if (all.empty() || id(all.back()) != id(s)) all.push_back({s.row + first_rows[part], s.start, s.length});
    return all;
}

// Up to 19 digits fit 64 bits; longer mantissas and larger powers of ten go to std::from_chars.
const char* read_any_number(const char* p, double& value) {
    const char* const start = p;
    std::uint64_t mantissa = 0;
    while (is_digit(*p)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p++ - '0');
    std::int64_t digits = p - start, exponent = 0;
    if (*p == '.') {
        const char* const point = ++p;
        while (is_digit(*p)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p++ - '0');
        exponent = point - p;
        digits += p - point;
    }
    if (digits == 0) return start;
    if ((*p | 0x20) == 'e') {
        const char* q = p + 1;
        const bool minus = *q == '-';
        if (minus || *q == '+') ++q;
        if (is_digit(*q)) {
            std::int64_t power = 0;
            for (; is_digit(*q); ++q)
                if (power < 100'000'000) power = power * 10 + (*q - '0');
            exponent += minus ? -power : power;
            p = q;
        }
    }
    if (digits <= 19 && mantissa <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
        const auto exact = static_cast<double>(mantissa);
        value = exponent < 0 ? exact / kPowersOfTen[-exponent] : exact * kPowersOfTen[exponent];
    } else {
        value = slow_number(start, p);
    }
    return p;
}

bool whole_number(std::string_view token, double& value) {
    const std::string copy = padded(token);
    if (!token.empty() && read_number(copy.data(), value) == copy.data() + token.size()) return true;
    const bool negative = !token.empty() && token[0] == '-';
    if (!token.empty() && (token[0] == '-' || token[0] == '+')) token.remove_prefix(1);
    if (same_word(token, "nan")) {
        value = std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0);
    } else if (same_word(token, "inf") || same_word(token, "infinity")) {
        value = negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    } else {
        return false;
    }
    return true;
}

double leading_number(std::string_view token, bool hexadecimal) {
    double value = 0;
    const char* p = token.data();
    const char* const end = p + token.size();
    while (p < end && is_space(*p)) ++p;
    if (p == end) return 0;
    const char* digits = p + (*p == '-' || *p == '+');
    if (hexadecimal && end - digits > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x') {
#if defined(__cpp_lib_to_chars)
        const auto read = std::from_chars(digits + 2, end, value, std::chars_format::hex);
        if (read.ec == std::errc::result_out_of_range) {
            const char* const power = std::find_if(digits + 2, read.ptr, [](char c) { return (c | 0x20) == 'p'; });
            value = read.ptr - power > 1 && power[1] == '-' ? 0.0 : std::numeric_limits<double>::infinity();
        }
#else
        value = std::strtod(std::string(digits, end).c_str(), nullptr);
#endif
        return *p == '-' ? -value : value;
    }
    const std::string copy = padded(token_of(p, end));
    if (read_number(copy.data(), value) != copy.data()) return value;
    const std::string_view word = token_of(digits, end);
    const double sign = *p == '-' ? -1.0 : 1.0;
    if (word.size() >= 3 && same_word(word.substr(0, 3), "inf")) return sign * std::numeric_limits<double>::infinity();
    if (word.size() >= 3 && same_word(word.substr(0, 3), "nan"))
        return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
    return 0;
}

std::int32_t whole_label(std::string_view token, std::int64_t offset) {
    double value;
    if (!whole_number(token, value) || std::isnan(value))
        throw TextError(offset, "the label " + quoted(token) + " is not a number");
    if (value != std::floor(value)) throw TextError(offset, "the label " + quoted(token) + " is not a whole number");
    if (std::abs(value) > 2147483647.0) throw TextError(offset, "the label " + quoted(token) + " is too large");
    return static_cast<std::int32_t>(value);
}

}  // namespace pippin
