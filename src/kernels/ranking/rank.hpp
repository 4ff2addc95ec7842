// Puts each query's documents in rank order under a rule for ties, and brings judgements and runs together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pippin {

enum class Ties : int {
    input = 0,
    reversed = 1,
    id_descending = 2,
    id_ascending = 3,
    best = 4,
    worst = 5,
    introsort = 6,  // as GNU's std::sort leaves them, which was given the documents as they stand,
    introsort_by_label = 7,  // sorted by label in the same way, or
    introsort_relevant_first = 8,  // relevant ones first
    introsort_twice = 9,  // as it leaves them where all are equal
    topk = 10,  // as PyTorch's topk leaves the first k of those,
    topk_given = 11,  // or of the documents as they stand
    argsort = 12,  // as NumPy's argsort leaves them, backwards,
    argsort_relevant_first = 13,  // which was given the relevant ones first
    argpartition = 14,  // as its argpartition leaves the last k, backwards
    ipnsort = 15  // as Rust's unstable sort leaves them
};

// A column of texts: item i is the `lengths[i]` bytes of `buffer` from `starts[i]`.
struct Texts {
    std::span<const std::uint8_t> buffer;
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> lengths;

    std::string_view operator[](std::int64_t i) const {
        const auto at = static_cast<std::size_t>(i);
        return {reinterpret_cast<const char*>(buffer.data()) + starts[at], static_cast<std::size_t>(lengths[at])};
    }
};

struct RankRule {
    Ties ties = Ties::input;
    bool float32 = false;  // compare scores as a tool that stores them in single precision does
    std::size_t depth = 0;  // the depth of a partial sort; 0: all; of introsort: filled up to
};

// A rule as it is handed over: the depth is stored above the lowest byte of `ties`.
inline RankRule rank_rule(int ties, bool float32) {
    return {static_cast<Ties>(ties & 0xff), float32, static_cast<std::size_t>(ties >> 8)};
}

// order[i]: the row of the document at position i. Rows of a query stay within the query's stretch of `order`.
void order_lists(std::span<const double> scores, std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets,
                 const Texts& ids, RankRule rule, std::span<std::int64_t> order, int threads);

// labels and ties of (data set, scores): ranked[i] = label at position i, tied[i] = 1 where the score equals the one before.
// alike[q] = 1 where two scores of query q are equal in single precision, which includes equality in double: every rule
// leaves all other queries in one order, so that one sort serves them all. `queries`, unless empty, are the only ones to be
// put in order.
void rank_lists(std::span<const double> scores, std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets,
                const Texts& ids, RankRule rule, std::span<const std::int64_t> queries, std::span<std::int32_t> ranked,
                std::span<std::uint8_t> tied, std::span<std::uint8_t> alike, int threads);

struct RunView {
    Texts ids;
    std::span<const double> scores;
    std::span<const std::int64_t> offsets;
};

struct JudgedView {
    Texts ids;
    std::span<const std::int32_t> labels;
    std::span<const std::int64_t> offsets;
};

// Two rows of one query that name the same document.
struct Duplicate {
    std::int64_t first = -1, second = -1;
};

// The same for (judgements, run). Query q of the result is run query run_of[q] judged by judged_of[q] (−1: none); its
// documents go to ranked[offsets[q] …]. An unjudged document gets kUnjudged. Returns the first document that
// stands twice in a query of the run.
Duplicate judge_and_rank(const RunView& run, const JudgedView& judged, std::span<const std::int64_t> run_of,
                         std::span<const std::int64_t> judged_of, std::span<const std::int64_t> offsets, RankRule rule,
                         std::span<std::int32_t> ranked, std::span<std::uint8_t> tied, int threads);

// The first duplicate document of a query.
Duplicate find_duplicate(const Texts& ids, std::span<const std::int64_t> offsets, int threads);

// Sorts each query's labels, highest first, into pool[offsets[q] …].
void sort_pools(std::span<const std::int32_t> labels, std::span<const std::int64_t> label_offsets,
                std::span<const std::int64_t> queries, std::span<const std::int64_t> offsets, std::span<std::int32_t> pool,
                int threads);

}  // namespace pippin
