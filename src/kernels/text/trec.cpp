#include "text/trec.hpp"

#include <utility>

#include "text/trec_lines.hpp"

namespace pippin {
namespace {

constexpr std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

std::int32_t label_of(std::string_view token, std::int64_t offset, bool lenient) {
    if (token.size() == 1 && is_digit(token[0])) return token[0] - '0';  // as nearly all are
    if (!lenient) return whole_label(token, offset);
    // As atol: the digits at the start, 0 if there are none.
    const char* p = token.data();
    const bool negative = *p == '-';
    if (negative || *p == '+') ++p;
    std::int64_t value = 0;
    for (; is_digit(*p); ++p) value = std::min<std::int64_t>(value * 10 + (*p - '0'), 2147483647);
    return static_cast<std::int32_t>(negative ? -value : value);
}

// Moves each piece's rows down over the gaps that blank lines left.
template <typename T>
void close_gaps(std::span<T> column, const Pieces& pieces, const std::vector<std::int64_t>& first_rows) {
    for (std::size_t piece = 0; piece + 1 < first_rows.size(); ++piece)
        if (first_rows[piece] != pieces.rows[piece])
            std::memmove(column.data() + first_rows[piece], column.data() + pieces.rows[piece],
                         size_of(first_rows[piece + 1] - first_rows[piece]) * sizeof(T));
}

template <int N, typename Row>
std::vector<Part> read_pieces(Bytes text, const Pieces& pieces, ReadOptions options, const char* what, Row&& row) {
    std::vector<Part> parts(size_of(pieces.count()));
    const bool exact = options.lenient && pieces.controls;
    each_piece(pieces, options.threads, [&](std::int64_t piece) {
        const std::int64_t first = pieces.cuts[size_of(piece)], last = pieces.cuts[size_of(piece) + 1];
        const std::int64_t index = pieces.rows[size_of(piece)];
        parts[size_of(piece)] = exact ? read_piece<CBlank, N>(text, first, last, index, options, what, row)
                                      : read_piece<AnyBlank, N>(text, first, last, index, options, what, row);
    });
    return parts;
}

// Combines the pieces; first_rows[i] becomes the number of rows before piece i.
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
    const std::vector<Part> parts =
        read_pieces<6>(text, pieces, options, kRunColumns,
                       [&](const std::string_view(&columns)[6], const Block& block, std::int64_t row, bool) {
                           starts[size_of(row)] = block.at(columns[2].data());
                           lengths[size_of(row)] = short_length(columns[2].size(), starts[size_of(row)]);
                           scores[size_of(row)] = run_score(columns, block, options).value();
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
    const std::vector<Part> parts =
        read_pieces<4>(text, pieces, options, "judgements have 4 columns (query 0 document label)",
                       [&](const std::string_view(&columns)[4], const Block& block, std::int64_t row, bool) {
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
    // A blank line is an error only if a number follows, possibly in a later piece; pieces record what they contain.
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
        if (follows || part.broken) throw TextError(blank, "blank line among the scores");
        rows += part.rows;
    }
    return rows;  // blank lines occur only at the end, so there are no gaps to close
}

}  // namespace pippin
