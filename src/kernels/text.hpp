// Bytes of text files: cutting them into pieces at newlines, checking UTF-8, finding columns, reading numbers.
//
// Every parser works on blocks that end in a newline, so a loop over digits or over a column stops by itself and
// needs no check of the end. A last line without a newline is parsed from a copy that has one.
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

#include "parallel.hpp"

namespace pippin {

using Bytes = std::span<const std::uint8_t>;

// Something in the text is not what it should be; `offset` is the byte where it stands.
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

// Where pieces of the text begin and end, and how many rows stand before each.
struct Pieces {
    std::vector<std::int64_t> cuts;
    std::vector<std::int64_t> rows;  // may count lines that turn out to be blank

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

// Pieces of about a megabyte that end after a newline. A byte order mark at the start is left out.
Pieces cut_text(Bytes text);
// Fills pieces.rows with the number of lines before each piece; unless `lenient`, raises for bytes that are no text.
void count_lines(Bytes text, Pieces& pieces, bool lenient, int threads);
// Raises TextError for the first byte of [first, last) that is NUL or no UTF-8.
void check_text(Bytes text, std::int64_t first, std::int64_t last);

// The token as an error message shows it: quoted, short, without control characters.
std::string quoted(std::string_view token);

// The segments of all pieces as segments of the file, neighbours with the same id joined.
std::vector<Segment> join_segments(Bytes text, const std::vector<std::vector<Segment>>& parts,
                                   std::span<const std::int64_t> first_rows);

// The number that makes up the whole token (also nan, inf, infinity), or false.
bool whole_number(std::string_view token, double& value);
// The longest number at the start of the token, 0 if there is none: as C's strtod (with hexadecimal) or Perl reads.
double leading_number(std::string_view token, bool hexadecimal);
// An integer from text such as 2, -1 or 1.0; raises TextError at `offset` otherwise.
std::int32_t whole_label(std::string_view token, std::int64_t offset);

double slow_number(const char* first, const char* last);

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
// Bytes up to the blank separate columns; only the newline ends a line.
inline bool is_space(char c) { return static_cast<unsigned char>(c) <= ' '; }

inline const char* skip_blanks(const char* p) {
    while (is_space(*p) && *p != '\n') ++p;
    return p;
}

// The first byte at or after p that is no part of a column. [p, limit) ends in a newline.
inline const char* column_end(const char* p, const char* limit) {
    while (limit - p >= 8) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        if constexpr (std::endian::native != std::endian::little) break;
        // Bytes below 0x21 borrow into their top bit; the lowest such bit is exact.
        const std::uint64_t low = (word - 0x2121212121212121ULL) & ~word & 0x8080808080808080ULL;
        if (low) return p + (std::countr_zero(low) >> 3);
        p += 8;
    }
    while (!is_space(*p)) ++p;
    return p;
}

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

// Reads a decimal number at p, correctly rounded; returns the byte after it, or p if no number stands there. A byte
// that is no part of a number must follow.
// Up to 19 digits fit 64 bits; a mantissa up to 2^53 and a power of ten up to 22 are doubles without error, so one
// multiplication or division rounds once (Clinger 1990). All else goes to std::from_chars.
inline const char* read_number(const char* p, double& value) {
    const char* const start = p;
    const bool negative = *p == '-';
    if (negative || *p == '+') ++p;
    const char* const number = p;
    std::uint64_t mantissa = 0;
    while (is_digit(*p)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p++ - '0');
    std::int64_t digits = p - number, exponent = 0;
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
    if (digits <= 19 && mantissa <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) [[likely]] {
        const auto exact = static_cast<double>(mantissa);
        value = exponent < 0 ? exact / kPowersOfTen[-exponent] : exact * kPowersOfTen[exponent];
    } else {
        value = slow_number(number, p);
    }
    if (negative) value = -value;
    return p;
}

// Calls body(block) for the lines of text in [first, last): in place, and from a copy if the last one is not ended.
template <typename Body>
void each_block(Bytes text, std::int64_t first, std::int64_t last, Body&& body) {
    const char* const base = reinterpret_cast<const char*>(text.data());
    std::int64_t ended = last;
    if (last > first && base[last - 1] != '\n') {
        const void* newline = memrchr(base + first, '\n', static_cast<std::size_t>(last - first));
        ended = newline ? static_cast<const char*>(newline) + 1 - base : first;
    }
    if (ended > first) body(Block{base + first, base + ended, first});
    if (last > ended) {
        std::string copy(base + ended, base + last);
        copy.push_back('\n');
        body(Block{copy.data(), copy.data() + copy.size(), ended});
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
