// Questions to one stream of an index: BM25 of all documents, the best of them exactly and early, counts in
// candidates.
//
// BM25 of a document is the sum over words of idf·c(k1+1)/(c + k1(1 − b + b·|d|/average)), idf = ln((N−df+½)/(df+½))
// with its sign. The words are summed in the falling order of their bounds, here and there, so that a search which
// stops early gives the same bits as one that does not.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "index_words.hpp"
#include "text.hpp"

namespace pippin {

// Arrays of one stream. A count is held in 1, 2 or 4 bytes, whichever the largest one needs.
struct StreamView {
    std::span<const std::int64_t> offsets;       // [terms + 1]
    std::span<const std::uint32_t> documents;    // ascending for each term
    std::span<const std::uint8_t> counts8;       // one of these three is filled
    std::span<const std::uint16_t> counts16;
    std::span<const std::uint32_t> counts32;
    std::span<const std::uint32_t> lengths;      // [documents]
    std::span<const std::uint32_t> most;         // [terms] largest count
    std::span<const std::uint32_t> shortest;     // [terms] length of the shortest document
    double average;
};

struct Bm25 {
    double k1, b;
};

struct Hit {
    double score;
    std::uint32_t rank;  // of the document's id among all ids: ties are settled by it
    std::uint32_t document;
};

// BM25 of every document, 0 where it holds none of the words. Terms are distinct numbers.
void bm25_scores(const StreamView& stream, std::span<const std::uint32_t> terms, Bm25 parameters,
                 std::span<double> scores);

// The best `n` documents that hold a word, best first, ties by rank.
std::vector<Hit> bm25_top(const StreamView& stream, std::span<const std::uint32_t> terms, Bm25 parameters,
                          std::size_t n, std::span<const std::uint32_t> ranks);

// counts[t][i]: occurrences of term t (or kNone: nowhere) in document numbers[i]; numbers ascend.
void count_in(const StreamView& stream, std::span<const std::uint32_t> terms, std::span<const std::int64_t> numbers,
              std::span<double> counts);

// The number of each text in a column sorted by `order`, or -1.
void find_texts(Bytes bytes, std::span<const std::int64_t> starts,
                std::span<const std::int32_t> lengths, std::span<const std::uint32_t> order,
                std::span<const std::string_view> wanted, std::span<std::int64_t> numbers);

}  // namespace pippin
