// A run judged and put in rank order while it is read: from text to the labels that measures look at, in one pass.
//
// The text is cut into pieces of about a megabyte, which threads take in turn. The lines of a query are parsed, its
// documents are looked up, sorted and written down as labels, and then the next query is parsed into the same memory: a
// piece and all that is done with it stay in the cache, and of a row of 36 bytes five are kept. A query that may go on
// beyond its piece, the first and the last of each, is put aside, and ranked when all pieces have been read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ranking/rank.hpp"
#include "text/trec.hpp"

namespace pippin {

// Labels of some queries in rank order (kUnjudged if not judged), and 1 where the score equals the one before.
struct RankedLabels {
    std::vector<std::int32_t> labels;
    std::vector<std::uint8_t> tied;
};

// Where the id of a query stands in the text, and where its ranked labels are.
struct RankedQuery {
    std::int64_t start;
    std::int32_t length;
    std::int64_t documents;
    std::size_t part;
    std::size_t first;
};

struct RankedText {
    std::vector<RankedQuery> queries;  // in the order of the text
    std::vector<RankedLabels> parts;
    Segment first_tag{-1, 0, 0}, last_tag{-1, 0, 0};
    // A line is malformed, a document is repeated within a query, or a score is NaN. Then there is nothing else here:
    // reading the text into columns (text/trec.hpp) tells what it is, and where.
    bool irregular = false;
};

// The queries of a run, judged by the judgements of the same id. `text` begins and ends with whole queries.
RankedText rank_run(Bytes text, const JudgedView& judged, const Texts& judged_queries, RankRule rule, ReadOptions options);

// Copies the labels and ties of query q to to[q] …; a query with to[q] below 0 is left out.
void copy_ranked(const RankedText& text, std::span<const std::int64_t> to, std::span<std::int32_t> labels,
                 std::span<std::uint8_t> tied, int threads);

}  // namespace pippin
