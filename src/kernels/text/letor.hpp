// Reads and writes LETOR text (`label qid:Q 1:value 2:value … #comment`, SVMlight with queries), on several threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ranking/rank.hpp"
#include "text/text.hpp"

namespace pippin {

// Feature tables are dense, so the largest id is their width.
inline constexpr std::int64_t kLargestFeature = 1'000'000;

struct LetorShape {
    Pieces pieces;
    std::int64_t width = 0;  // the largest feature id
};

// First pass: counts the lines that hold data and finds the largest feature id from the end of each line.
LetorShape scan_letor(Bytes text, int threads);

// Columns for one row per line of data. lines has one place more: row i is the text from lines[i] to lines[i + 1], with
// the blank and comment lines that stand before it.
template <typename T>
struct LetorColumns {
    std::span<T> features;  // rows × width
    std::int64_t width;
    std::span<std::int32_t> labels;
    std::span<std::int64_t> lines;
    std::span<std::int64_t> document_starts;
    std::span<std::int32_t> document_lengths;  // −1: the line names no document
    std::span<std::int64_t> comment_starts;
    std::span<std::int32_t> comment_lengths;  // −1: no comment in the line
};

// Second pass: fills the columns; features that a line leaves out become `absent`. Returns the stretches of one query.
template <typename T>
std::vector<Segment> parse_letor(Bytes text, const Pieces& pieces, T absent, const LetorColumns<T>& columns, int threads);

// A stretch of lines with one query id.
struct QueryLines {
    std::int64_t begin;   // of its first line of data
    std::int64_t start;   // of the id
    std::int32_t length;  // of the id
    std::int64_t rows;    // lines of data
    std::int64_t width;   // the largest feature id, as scan_letor sees it
};

// Locates the queries without reading labels or features, to detect queries that return later.
std::vector<QueryLines> find_queries(Bytes text, int threads);

// The parts of a row when a data set is written.
template <typename T>
struct LetorRows {
    std::span<const T> features;
    std::int64_t width;
    std::span<const std::int32_t> labels;
    std::span<const std::int64_t> offsets;  // of the queries
    Texts query_ids;
    Texts comments;  // empty: none
};

// Rows [first, last) as text: the shortest decimals that read back the same, NaN as NULL.
template <typename T>
std::string format_letor(const LetorRows<T>& rows, std::int64_t first, std::int64_t last);

// Numbers in their shortest text, one a line.
std::string format_numbers(std::span<const double> numbers);

void append_number(std::string& text, double value);
void append_number(std::string& text, float value);
void append_number(std::string& text, std::int64_t value);

}  // namespace pippin
