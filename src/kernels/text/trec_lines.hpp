// The lines of TREC text one after the other: columns, scores, comments and blank lines, stretches of one query. Shared by
// what reads text into columns (trec.cpp) and what ranks a run while it is read (run_ranks.cpp).
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "text/trec.hpp"

namespace pippin {

inline constexpr const char* kRunColumns = "a run has 6 columns (query Q0 document rank score tag)";

#if defined(__SSE2__)
// The columns of a line that has just N, with one byte between each, and fits 64 bytes, as nearly all do: found without
// a branch per column. False, and p stays, for any other line.
template <int N>
[[gnu::always_inline]] inline bool read_plain_columns(const char*& p, std::string_view (&columns)[N]) {
    const Blanks found(p);
    if (found.newlines == 0) return false;
    const std::uint64_t line = found.newlines ^ (found.newlines - 1);  // up to the newline, with it
    std::uint64_t blanks = found.blanks & line;
    if (blanks & ((blanks << 1) | 1)) return false;
    const char* start = p;
    for (int i = 0; i < N - 1; ++i, blanks &= blanks - 1) {
        const char* const end = p + std::countr_zero(blanks | std::uint64_t{1} << 63);  // never 0: one instruction
        columns[i] = token_of(start, end);
        start = end + 1;
    }
    // The newline must be all that is left. Where it is was known before the columns, and the next line waits for no more.
    const int size = std::countr_zero(found.newlines);
    if (blanks != std::uint64_t{1} << size) return false;
    columns[N - 1] = token_of(start, p + size);
    p += size + 1;
    return true;
}
#else
template <int N>
bool read_plain_columns(const char*&, std::string_view (&)[N]) {
    return false;
}
#endif

// Blanks that separate columns: all bytes up to the space, or those of C's isspace.
struct AnyBlank {
    static const char* skip(const char* p) { return skip_blanks(p); }
    static const char* end(const char* p) { return column_end(p); }
};
struct CBlank {
    static const char* skip(const char* p) {
        while (is_c_space(*p) && *p != '\n') ++p;
        return p;
    }
    static const char* end(const char* p) {
        while (!is_c_space(*p)) ++p;
        return p;
    }
};

// The first N columns of the line at p; p moves behind the newline. Returns how many columns the line has, at most one
// more than N.
template <typename Blank, int N>
int read_columns(const char*& p, const char* limit, std::string_view (&columns)[N]) {
    if constexpr (std::is_same_v<Blank, AnyBlank>)
        if (read_plain_columns(p, columns)) return N;
    int count = 0;
    for (p = Blank::skip(p); *p != '\n'; p = Blank::skip(p)) {
        if (count == N) {
            p = line_end(p, limit) + 1;
            return N + 1;
        }
        const char* const end = Blank::end(p);
        columns[count++] = token_of(p, end);
        p = end;
    }
    ++p;
    return count;
}

inline std::string too_few(const char* what, int count) {
    return std::string(what) + ", and this line has " + (count == 1 ? "only 1" : std::to_string(count));
}

inline double score_of(std::string_view token, std::int64_t offset, ReadOptions options) {
    double value;
    if (options.lenient) return whole_number(token, value) ? value : leading_number(token, true);
    if (!whole_number(token, value)) throw TextError(offset, "the score " + quoted(token) + " is not a number");
    if (std::isnan(value) || (std::isinf(value) && !options.infinite))
        throw TextError(offset, "the score " + quoted(token) + " is not a finite number" +
                                    (std::isinf(value) ? " (--allow-infinite, in Python allow_infinite=True, ranks it)" : ""));
    return value;
}

// The score of a line of a run, by the quick way where it is a plain number.
inline Quotient run_score(const std::string_view (&columns)[6], const Block& block, ReadOptions options) {
    const char* const score = columns[4].data();
    const char* const end = score + columns[4].size();
    Quotient quotient;
    if (read_short_quotient(score, quotient) == end) [[likely]]
        return quotient;
    double value;
    return {read_number(score, value) == end && std::isfinite(value) ? value : score_of(columns[4], block.at(score), options),
            1};
}

struct Part {
    std::int64_t rows = 0;
    std::vector<Segment> segments;
    Segment first_tag{-1, 0, 0}, last_tag{-1, 0, 0};
};

// Whether the line before `at` is a comment that trec_eval 10 leaves out: of lines that start with # and follow each
// other every second one is.
inline bool follows_comment(Bytes text, std::int64_t at) {
    bool follows = false;
    while (at > 0) {
        std::int64_t start = at - 1;
        while (start > 0 && text[static_cast<std::size_t>(start - 1)] != '\n') --start;
        if (text[static_cast<std::size_t>(start)] != '#') break;
        follows = !follows;
        at = start;
    }
    return follows;
}

// Which lines of the file are not rows.
template <int N>
class Skipped {
  public:
    Skipped(ReadOptions options, Bytes text, std::int64_t first)
        : options_(options), after_comment_(judgements() && options.comments && follows_comment(text, first)) {}

    // Whether the line, from its first non-blank byte on, is a comment.
    bool comment(const char* line, const char* first) {
        if (*first != '#') return after_comment_ = false;
        if (!options_.lenient) return true;
        if (!options_.comments) return false;
        if (!judgements()) return true;
        return after_comment_ = line == first && !after_comment_;
    }
    bool blank() const { return !judgements(); }

  private:
    bool judgements() const { return options_.lenient && N == 4; }

    ReadOptions options_;
    bool after_comment_;
};

// The sixth column of a row.
inline Segment tag_of(const std::string_view (&columns)[6], const Block& block, std::int64_t row) {
    const std::size_t length = std::min<std::size_t>(columns[5].size(), 1 << 16);
    return {row, block.at(columns[5].data()), static_cast<std::int32_t>(length)};
}

// Walks over the lines in [first, last): row(columns, block, index, begins) for each line with N columns; `index` counts
// on from `index`, and `begins` says that the line is the first of a stretch of one query.
template <typename Blank, int N, typename Row>
Part read_piece(Bytes text, std::int64_t first, std::int64_t last, std::int64_t index, ReadOptions options, const char* what,
                Row&& row) {
    Part part;
    std::string_view query;
    const bool more = options.lenient && N == 6;  // further columns are let pass
    Skipped<N> skipped(options, text, first);
    each_block(text, first, last, [&](const Block& block) {
        std::string_view columns[N];
        for (const char* p = block.begin; p < block.end;) {
            const char* const start = p;
            const char* const line = p = Blank::skip(p);
            if (skipped.comment(start, line)) {
                p = line_end(p, block.end) + 1;
                continue;
            }
            const int count = read_columns<Blank>(p, block.end, columns);
            if (count == 0 && skipped.blank()) continue;
            if (count < N || (count > N && !more))
                throw TextError(block.at(line),
                                count < N ? too_few(what, count) : std::string(what) + ", and this line has more");
            const bool begins = part.segments.empty() || !same_text(columns[0], query);
            if (begins) {
                query = columns[0];
                const std::int64_t at = block.at(query.data());
                part.segments.push_back({part.rows, at, short_length(query.size(), at)});
            }
            row(columns, block, index, begins);
            if constexpr (N == 6)
                if (part.rows == 0) part.first_tag = tag_of(columns, block, index);
            ++index;
            ++part.rows;
        }
        if constexpr (N == 6)
            if (columns[5].data()) part.last_tag = tag_of(columns, block, index - 1);
    });
    return part;
}

}  // namespace pippin
