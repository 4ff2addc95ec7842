#include "trec.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

namespace pippin {
namespace {

constexpr std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

#if defined(__SSE2__)
// The columns of a line that has just N, with one byte between each, and fits 64 bytes, as nearly all do: found without
// a branch per column. False, and p stays, for any other line.
template <int N>
bool read_plain_columns(const char*& p, std::string_view (&columns)[N]) {
    const Blanks found(p);
    if (found.newlines == 0) return false;
    const std::uint64_t line = found.newlines ^ (found.newlines - 1);  // up to the newline, with it
    std::uint64_t blanks = found.blanks & line;
    if (blanks & ((blanks << 1) | 1)) return false;
    const char* start = p;
    for (int i = 0; i < N - 1; ++i, blanks &= blanks - 1) {
        const char* const end = p + (std::countr_zero(blanks) & 63);
        columns[i] = token_of(start, end);
        start = end + 1;
    }
    // The newline must be all that is left.
    if (blanks == 0 || (blanks & (blanks - 1))) return false;
    const char* const end = p + std::countr_zero(blanks);
    columns[N - 1] = token_of(start, end);
    p = end + 1;
    return true;
}
#else
template <int N>
bool read_plain_columns(const char*&, std::string_view (&)[N]) {
    return false;
}
#endif

// Where blanks end and columns end: at any byte up to the blank, or at what C's isspace says.
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

std::string too_few(const char* what, int count) {
    return std::string(what) + ", and this line has " + (count == 1 ? "only 1" : std::to_string(count));
}

double score_of(std::string_view token, std::int64_t offset, ReadOptions options) {
    double value;
    if (options.lenient) return whole_number(token, value) ? value : leading_number(token, true);
    if (!whole_number(token, value)) throw TextError(offset, "the score " + quoted(token) + " is not a number");
    if (std::isnan(value) || (std::isinf(value) && !options.infinite))
        throw TextError(offset, "the score " + quoted(token) + " is not a finite number" +
                                    (std::isinf(value) ? " (--allow-infinite, in Python allow_infinite=True, ranks it)" : ""));
    return value;
}

std::int32_t label_of(std::string_view token, std::int64_t offset, bool lenient) {
    if (!lenient) return whole_label(token, offset);
    // As atol: the digits at the start, 0 if there are none.
    const char* p = token.data();
    const bool negative = *p == '-';
    if (negative || *p == '+') ++p;
    std::int64_t value = 0;
    for (; is_digit(*p); ++p) value = std::min<std::int64_t>(value * 10 + (*p - '0'), 2147483647);
    return static_cast<std::int32_t>(negative ? -value : value);
}

// Moves each piece's rows down over the room that blank lines left.
template <typename T>
void close_gaps(std::span<T> column, const Pieces& pieces, const std::vector<std::int64_t>& first_rows) {
    for (std::size_t piece = 0; piece + 1 < first_rows.size(); ++piece)
        if (first_rows[piece] != pieces.rows[piece])
            std::memmove(column.data() + first_rows[piece], column.data() + pieces.rows[piece],
                         size_of(first_rows[piece + 1] - first_rows[piece]) * sizeof(T));
}

struct Part {
    std::int64_t rows = 0;
    std::vector<Segment> segments;
    Segment first_tag{-1, 0, 0}, last_tag{-1, 0, 0};
};

// Whether the line before `at` is a comment that trec_eval 10 leaves out: of lines that start with # and follow each
// other every second one is.
bool follows_comment(Bytes text, std::int64_t at) {
    bool follows = false;
    while (at > 0) {
        std::int64_t start = at - 1;
        while (start > 0 && text[size_of(start - 1)] != '\n') --start;
        if (text[size_of(start)] != '#') break;
        follows = !follows;
        at = start;
    }
    return follows;
}

// Which lines of the file are no rows.
template <int N>
class Skipped {
  public:
    Skipped(ReadOptions options, Bytes text, std::int64_t first)
        : options_(options), after_comment_(judgements() && options.comments && follows_comment(text, first)) {}

    // Whether the line, from its first byte that is no blank on, is a comment.
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

// Walks over the lines of a piece: row(columns, offset, index) for each line with N columns.
template <typename Blank, int N, typename Row>
Part read_piece(Bytes text, const Pieces& pieces, std::int64_t piece, ReadOptions options, const char* what, Row&& row) {
    Part part;
    std::string_view query;
    std::int64_t index = pieces.rows[size_of(piece)];
    const bool more = options.lenient && N == 6;  // further columns are let pass
    Skipped<N> skipped(options, text, pieces.cuts[size_of(piece)]);
    each_block(text, pieces.cuts[size_of(piece)], pieces.cuts[size_of(piece) + 1], [&](const Block& block) {
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
                throw TextError(block.at(line), count < N ? too_few(what, count) : std::string(what) + ", and this line has more");
            if (part.segments.empty() || columns[0] != query) {
                query = columns[0];
                const std::int64_t at = block.at(query.data());
                part.segments.push_back({part.rows, at, short_length(query.size(), at)});
            }
            row(columns, block, index);
            if constexpr (N == 6) {
                const std::int64_t at = block.at(columns[5].data());
                part.last_tag = {index, at, static_cast<std::int32_t>(std::min<std::size_t>(columns[5].size(), 1 << 16))};
                if (part.first_tag.row < 0) part.first_tag = part.last_tag;
            }
            ++index;
            ++part.rows;
        }
    });
    return part;
}

template <int N, typename Row>
std::vector<Part> read_pieces(Bytes text, const Pieces& pieces, ReadOptions options, const char* what, Row&& row) {
    std::vector<Part> parts(size_of(pieces.count()));
    const bool exact = options.lenient && pieces.controls;
    each_piece(pieces, options.threads, [&](std::int64_t piece) {
        parts[size_of(piece)] = exact ? read_piece<CBlank, N>(text, pieces, piece, options, what, row)
                                      : read_piece<AnyBlank, N>(text, pieces, piece, options, what, row);
    });
    return parts;
}

// Joins what the pieces know; first_rows[i] becomes the number of rows before piece i.
TrecIndex join_parts(Bytes text, const std::vector<Part>& parts, std::vector<std::int64_t>& first_rows) {
    TrecIndex index;
    index.first_tag.row = index.last_tag.row = -1;
    std::vector<std::vector<Segment>> segments;
    first_rows.assign(1, 0);
    for (const Part& part : parts) {
        first_rows.push_back(first_rows.back() + part.rows);
        segments.push_back(part.segments);
        if (index.first_tag.row < 0) index.first_tag = part.first_tag;
        if (part.last_tag.row >= 0) index.last_tag = part.last_tag;
    }
    index.rows = first_rows.back();
    index.segments = join_segments(text, segments, first_rows);
    return index;
}

}  // namespace

TrecIndex parse_run(Bytes text, const Pieces& pieces, ReadOptions options, std::span<std::int64_t> starts,
                    std::span<std::int32_t> lengths, std::span<double> scores) {
    const std::vector<Part> parts = read_pieces<6>(
        text, pieces, options, "a run has 6 columns (query Q0 document rank score tag)",
        [&](const std::string_view (&columns)[6], const Block& block, std::int64_t row) {
            starts[size_of(row)] = block.at(columns[2].data());
            lengths[size_of(row)] = short_length(columns[2].size(), starts[size_of(row)]);
            const char* const score = columns[4].data();
            double& value = scores[size_of(row)];
            if (read_number(score, value) != score + columns[4].size() || !std::isfinite(value)) [[unlikely]]
                value = score_of(columns[4], block.at(score), options);
        });
    std::vector<std::int64_t> first_rows;
    TrecIndex index = join_parts(text, parts, first_rows);
    if (index.rows != pieces.rows.back()) {
        close_gaps(starts, pieces, first_rows);
        close_gaps(lengths, pieces, first_rows);
        close_gaps(scores, pieces, first_rows);
    }
    return index;
}

TrecIndex parse_judgements(Bytes text, const Pieces& pieces, ReadOptions options, std::span<std::int64_t> starts,
                           std::span<std::int32_t> lengths, std::span<std::int32_t> labels) {
    const std::vector<Part> parts = read_pieces<4>(
        text, pieces, options, "judgements have 4 columns (query 0 document label)",
        [&](const std::string_view (&columns)[4], const Block& block, std::int64_t row) {
            starts[size_of(row)] = block.at(columns[2].data());
            lengths[size_of(row)] = short_length(columns[2].size(), starts[size_of(row)]);
            labels[size_of(row)] = label_of(columns[3], block.at(columns[3].data()), options.lenient);
        });
    std::vector<std::int64_t> first_rows;
    TrecIndex index = join_parts(text, parts, first_rows);
    if (index.rows != pieces.rows.back()) {
        close_gaps(starts, pieces, first_rows);
        close_gaps(lengths, pieces, first_rows);
        close_gaps(labels, pieces, first_rows);
    }
    return index;
}

std::int64_t parse_scores(Bytes text, const Pieces& pieces, ReadOptions options, std::span<double> scores) {
    // A blank line is an error only if a number follows, perhaps in a later piece; so pieces note what they saw.
    struct Ends {
        std::int64_t rows = 0, first_blank = -1;
        bool broken = false;  // a number follows the blank line in this piece
    };
    std::vector<Ends> ends(size_of(pieces.count()));
    each_piece(pieces, options.threads, [&](std::int64_t piece) {
        Ends& mine = ends[size_of(piece)];
        std::int64_t index = pieces.rows[size_of(piece)];
        each_block(text, pieces.cuts[size_of(piece)], pieces.cuts[size_of(piece) + 1], [&](const Block& block) {
            for (const char* p = block.begin; p < block.end && !mine.broken;) {
                const char* const end = line_end(p, block.end);
                const char* const first = skip_blanks(p);
                const char* const last = column_end(first);
                const std::int64_t at = block.at(p);
                p = end + 1;
                if (options.lenient) {
                    scores[size_of(index++)] = leading_number(token_of(first, end), false);
                    continue;
                }
                if (first == end) {
                    if (mine.first_blank < 0) mine.first_blank = at;
                    continue;
                }
                mine.broken = mine.first_blank >= 0;
                if (mine.broken) break;
                if (skip_blanks(last) != end) throw TextError(at, "one score a line is expected, and this line has more");
                scores[size_of(index++)] = score_of(token_of(first, last), block.at(first), options);
            }
        });
        mine.rows = index - pieces.rows[size_of(piece)];
    });
    std::int64_t blank = -1, rows = 0;
    for (const Ends& part : ends) {
        const bool follows = blank >= 0 && (part.rows > 0 || part.broken);
        if (blank < 0) blank = part.first_blank;
        if (follows || part.broken) throw TextError(blank, "a blank line stands among the scores");
        rows += part.rows;
    }
    return rows;  // blank lines stand only at the end, so no gap is left to close
}

}  // namespace pippin
