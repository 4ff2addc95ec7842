// Bytes of text files: cutting them into pieces at newlines, checking UTF-8, finding columns, reading numbers.
//
// Every parser works on blocks that end in a newline, so a loop over digits or over a column stops by itself and
// needs no check of the end; and kPadding bytes behind a block can be read, so eight bytes can be loaded at any position.
// The last lines of a file are parsed from a copy that has both.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "parallel.hpp"

namespace pippin {

using Bytes = std::span<const std::uint8_t>;

inline constexpr std::int64_t kPadding = 64;

// The text is invalid at byte `offset`.
struct TextError : std::runtime_error {
    TextError(std::int64_t at, const std::string& message) : std::runtime_error(message), offset(at) {}
    std::int64_t offset;
};

// Keeps the error that comes first in the file, whichever thread meets it.
class FirstError {
  public:
    void offer(const TextError& error) {
        const std::lock_guard lock(guard_);
        if (offset_ < 0 || error.offset < offset_) offset_ = error.offset, message_ = error.what();
    }
    void raise() const {
        if (offset_ >= 0) throw TextError(offset_, message_);
    }

  private:
    std::mutex guard_;
    std::int64_t offset_ = -1;
    std::string message_;
};

// Boundaries of the pieces of a text, and the number of rows before each.
struct Pieces {
    std::vector<std::int64_t> cuts;
    std::vector<std::int64_t> rows;  // may count lines that turn out to be blank
    bool controls = false;           // there are control bytes that C's isspace does not count among the blanks

    std::int64_t count() const { return static_cast<std::int64_t>(cuts.size()) - 1; }
};

// A stretch of lines, the last one ended by a newline. `offset` is the place of `begin` in the file.
struct Block {
    const char* begin;
    const char* end;
    std::int64_t offset;

    std::int64_t at(const char* p) const { return offset + (p - begin); }
};

// A stretch of rows with one query id; rows count from the start of the piece, later from the start of the file.
struct Segment {
    std::int64_t row;
    std::int64_t start;
    std::int32_t length;
};

std::int64_t count_newlines(Bytes text);
std::int64_t line_at(Bytes text, std::int64_t offset);
// The length of the longest of several strings, each preceded by its length (four bytes, little-endian), as in a page
// of Parquet.
std::int64_t longest_text(Bytes page);

// Pieces of about a megabyte that end after a newline. A byte order mark at the start is left out, or kept as text.
Pieces cut_text(Bytes text, bool keep_mark = false);
// Fills pieces.rows with the number of lines before each piece; unless `lenient`, raises for bytes that are not text.
void count_lines(Bytes text, Pieces& pieces, bool lenient, int threads);
// The kinds of bytes in a text: newlines, bytes above 127, NUL, and control bytes that C's isspace does not accept.
struct Census {
    std::int64_t newlines = 0;
    bool high = false, zero = false, controls = false;
};
// Classifies the bytes of [first, last); unless `lenient`, raises TextError for the first NUL or invalid UTF-8.
Census check_text(Bytes text, std::int64_t first, std::int64_t last, bool lenient = false);

// The token as an error message shows it: quoted, short, without control characters.
std::string quoted(std::string_view token);

// The segments of all pieces as segments of the file, neighbours with the same id joined.
std::vector<Segment> join_segments(Bytes text, const std::vector<std::vector<Segment>>& parts,
                                   std::span<const std::int64_t> first_rows);

// The number that makes up the whole token (also nan, inf, infinity), or false.
bool whole_number(std::string_view token, double& value);
// The longest number at the start of the token, 0 if there is none, read like C's strtod (with hexadecimal) or Perl.
double leading_number(std::string_view token, bool hexadecimal);
// An integer from text such as 2, -1 or 1.0; raises TextError at `offset` otherwise.
std::int32_t whole_label(std::string_view token, std::int64_t offset);

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
// Bytes up to the blank separate columns; only the newline ends a line.
inline bool is_space(char c) { return static_cast<unsigned char>(c) <= ' '; }

// Like C's isspace: fewer bytes than `is_space`, which counts every control byte as a blank.
inline bool is_c_space(char c) { return c == ' ' || static_cast<unsigned char>(c - '\t') < 5; }

inline const char* skip_blanks(const char* p) {
    while (is_space(*p) && *p != '\n') ++p;
    return p;
}

inline std::uint64_t load_word(const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

// Compares two strings that are followed by at least kPadding readable bytes; most comparisons need no function call.
inline bool same_text(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    if (a.size() - 1 < 8) return (load_word(a.data()) ^ load_word(b.data())) << (64 - 8 * a.size()) == 0;
    return a == b;
}

// The first byte at or after p that is not part of a column, eight bytes at a time.
inline const char* column_end(const char* p) {
    for (;; p += 8) {
        const std::uint64_t word = load_word(p);
        // Bytes below 0x21 borrow into their top bit; the lowest such bit is exact.
        const std::uint64_t low = (word - 0x2121212121212121ULL) & ~word & 0x8080808080808080ULL;
        if (low) return p + (std::countr_zero(low) >> 3);
    }
}

#if defined(__SSE2__)
// Where the 64 bytes from p hold blanks (any byte up to the blank) and newlines, one bit a byte.
struct Blanks {
    std::uint64_t blanks = 0, newlines = 0;

    explicit Blanks(const char* p) {
        for (int i = 0; i < 4; ++i) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
            const __m128i blank = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(' ')), bytes);
            const __m128i newline = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
            blanks |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(blank))) << (16 * i);
            newlines |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(newline))) << (16 * i);
        }
    }
};

#endif

inline const char* line_end(const char* p, const char* limit) {
    return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(limit - p)));
}

inline std::string_view token_of(const char* first, const char* last) {
    return {first, static_cast<std::size_t>(last - first)};
}

inline std::int32_t short_length(std::size_t length, std::int64_t offset) {
    if (length > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        throw TextError(offset, "this text is longer than 2 GB");
    return static_cast<std::int32_t>(length);
}

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline constexpr std::uint64_t kWholePowersOfTen[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// Which of eight bytes, already combined with '0' by exclusive or, are not digits: their top bits. Bytes after the first
// such one may be marked without being one.
inline std::uint64_t non_digits(std::uint64_t digits) {
    return ((digits + 0x7676767676767676ULL) | digits) & 0x8080808080808080ULL;
}

// The number that the first `count` (1 to 8) of eight digits make, by pairs, then fours, then eight.
inline std::uint64_t join_digits(std::uint64_t digits, int count) {
    digits <<= 64 - 8 * count;
    digits = digits * 10 + (digits >> 8);
    return (((digits & 0x000000FF000000FFULL) * 0x000F424000000064ULL) +
            (((digits >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL)) >>
           32;
}

// Any decimal number at p, unsigned; returns p if there is none.
const char* read_any_number(const char* p, double& value);

// A number that is still to be divided: by a power of ten, or by 1.
struct Quotient {
    double dividend = 0, divisor = 1;

    double value() const { return dividend / divisor; }
};

// A short decimal at p: at most 7 digits before the point and 8 after it, no exponent. Returns the byte after it, or
// nullptr for anything else. kPadding bytes must be readable.
// A mantissa up to 2^53 and a power of ten up to 22 are doubles without error, so one division rounds once (Clinger 1990).
[[gnu::always_inline]] inline const char* read_short_quotient(const char* p, Quotient& quotient) {
    const bool negative = *p == '-';
    p += negative;
    const std::uint64_t digits = load_word(p) ^ 0x3030303030303030ULL;
    const std::uint64_t ends = non_digits(digits);
    const int whole = std::countr_zero(ends) >> 3;  // 8 if all are digits
    if (whole == 0 || whole == 8) [[unlikely]]
        return nullptr;
    const char* end = p + whole;
    std::uint64_t mantissa;
    int places = 0;
    if (*end != '.') {
        mantissa = join_digits(digits, whole);
    } else {
        // Often the eight bytes hold all of the number; without the point they are its digits.
        const std::uint64_t before = (std::uint64_t{1} << (8 * whole)) - 1;
        const int size = std::countr_zero(ends & (ends - 1)) >> 3;
        end = p + size;
        if (!is_digit(*end)) {
            places = size - whole - 1;
            mantissa = join_digits((digits & before) | ((digits >> 8) & ~before), size - 1);
        } else {
            const std::uint64_t fraction = load_word(p + whole + 1) ^ 0x3030303030303030ULL;
            places = std::countr_zero(non_digits(fraction)) >> 3;
            mantissa = join_digits(digits, whole) * kWholePowersOfTen[places] + join_digits(fraction, places);
            end = p + whole + 1 + places;
        }
    }
    if (static_cast<unsigned char>(*end) > ',') [[unlikely]]
        return nullptr;  // a further digit, an exponent, a letter
    quotient.dividend = static_cast<double>(static_cast<std::int64_t>(mantissa)) * (negative ? -1.0 : 1.0);  // 0 too has a sign
    quotient.divisor = kPowersOfTen[places];
    return end;
}

inline const char* read_short_number(const char* p, double& value) {
    Quotient quotient;
    const char* const end = read_short_quotient(p, quotient);
    if (end) value = quotient.value();
    return end;
}

// Reads a decimal number at p, correctly rounded; returns the byte after it, or p if p does not start a number. A byte
// that is not part of a number must follow, and kPadding bytes be readable.
inline const char* read_number(const char* p, double& value) {
    if (const char* end = read_short_number(p, value)) [[likely]]
        return end;
    const bool negative = *p == '-';
    const char* const first = p + (negative || *p == '+');
    const char* const end = read_any_number(first, value);
    if (end == first) return p;
    if (negative) value = -value;
    return end;
}

// Calls body(block) for the lines of text in [first, last): in place, and from a copy for lines near the end of the text.
template <typename Body>
void each_block(Bytes text, std::int64_t first, std::int64_t last, Body&& body) {
    const char* const base = reinterpret_cast<const char*>(text.data());
    const std::int64_t safe = static_cast<std::int64_t>(text.size()) - kPadding;
    std::int64_t ended = last;
    if (last > safe) {
        const std::string_view whole(base + first, static_cast<std::size_t>(std::max<std::int64_t>(safe - first, 0)));
        const std::size_t newline = whole.rfind('\n');
        ended = newline == whole.npos ? first : first + static_cast<std::int64_t>(newline) + 1;
    }
    if (ended > first) body(Block{base + first, base + ended, first});
    if (last > ended) {
        std::string copy(base + ended, base + last);
        if (copy.back() != '\n') copy.push_back('\n');
        const std::size_t size = copy.size();
        copy.append(kPadding, '\n');
        body(Block{copy.data(), copy.data() + size, ended});
    }
}

// Calls work(piece) for every piece on several threads and raises the error that comes first in the file.
template <typename Work>
void each_piece(const Pieces& pieces, int threads, Work&& work) {
    FirstError error;
    parallel_blocks(pieces.count(), threads, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t piece = first; piece < last; ++piece) {
            try {
                work(piece);
            } catch (const TextError& found) {
                error.offer(found);
                return;
            }
        }
    });
    error.raise();
}

}  // namespace pippin
