// Searches one stream of an index: BM25 of all documents, exact top k with early termination, and counts in candidates.
//
// BM25 of a document is the sum over words of idf·c(k1+1)/(c + k1(1 − b + b·|d|/average)), idf = ln((N−df+½)/(df+½))
// with its sign. The words are summed in the falling order of their bounds, here and there, so that a search which
// stops early gives the same bits as one that does not.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "index/accumulators.hpp"
#include "index/top_k.hpp"
#include "index/postings.hpp"
#include "text/text.hpp"

namespace pippin {

inline constexpr double kAnyLength = 4294967295.0;

// The data that BM25 needs in addition to the postings.
struct Lengths {
    std::span<const std::uint32_t> of;  // [documents]
    double average;
    double longest = kAnyLength;  // no document is longer
};

struct Bm25 {
    double k1, b;
};

// A word of a query: its postings and, if they were unpacked before (`frequent_counts`), its count in every document.
struct QueryTerm {
    Postings postings;
    std::span<const std::uint8_t> counts = {};
};

// The counts of a word in every document, if at least one document in 16 contains it; else empty. A count of 255 means
// 255 or more.
std::vector<std::uint8_t> frequent_counts(const Postings& postings, std::size_t documents);

// BM25 of every document for distinct words; 0 if it contains none of them.
void bm25_scores(Lengths lengths, std::span<const QueryTerm> words, Bm25 parameters, std::span<double> scores);

// The best `n` documents that hold a word, best first, ties by rank. Searches may share the pool across threads.
std::vector<Hit> bm25_top(Lengths lengths, std::span<const QueryTerm> words, Bm25 parameters, std::size_t n,
                          std::span<const std::uint32_t> ranks, AccumulatorPool& pool);

// counts[w][i]: occurrences of word w in document numbers[i]; numbers ascend.
void count_in(std::span<const QueryTerm> words, std::span<const std::int64_t> numbers, std::span<double> counts);

// The number of each text in a column sorted by `order`, or -1.
void find_texts(Bytes bytes, std::span<const std::int64_t> starts, std::span<const std::int32_t> lengths,
                std::span<const std::uint32_t> order, std::span<const std::string_view> wanted,
                std::span<std::int64_t> numbers);

}  // namespace pippin
