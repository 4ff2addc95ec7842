// Reads TREC text (judgements of four columns, runs of six) and score files into columns, on several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/text.hpp"

namespace pippin {

// Lenient: read as trec_eval does. Text that is not a number counts as the C library reads it, and only what C's isspace
// takes for a blank separates columns. Judgements have four columns in every line, not more, and no line is blank; a
// run's further columns are ignored. With comments, as version 10: in a run lines that start with # are left out, in
// judgements such a line is left out and the next one is read whatever it is.
struct ReadOptions {
    bool lenient = false;
    int threads = 1;
    bool comments = true;   // of no effect unless lenient
    bool infinite = false;  // an infinite score is a score
};

// What is known after the columns are filled: rows (blank and comment lines are none) and stretches of one query.
struct TrecIndex {
    std::int64_t rows = 0;
    std::vector<Segment> segments;
    Segment first_tag{}, last_tag{};  // the sixth column of the first and of the last row of a run
};

// Columns have space for pieces.rows.back() rows. starts, lengths: the position of each document id in the text.
TrecIndex parse_run(Bytes text, const Pieces& pieces, ReadOptions options, std::span<std::int64_t> starts,
                    std::span<std::int32_t> lengths, std::span<double> scores);
TrecIndex parse_judgements(Bytes text, const Pieces& pieces, ReadOptions options, std::span<std::int64_t> starts,
                           std::span<std::int32_t> lengths, std::span<std::int32_t> labels);

// One number a line. Returns how many; blank lines at the end are none. Lenient: as Perl reads, every line counts.
std::int64_t parse_scores(Bytes text, const Pieces& pieces, ReadOptions options, std::span<double> scores);

}  // namespace pippin
