// Applies an ensemble of regression trees to many documents.
//
// A tree of n leaves is n − 1 comparisons of one feature with one threshold. All of them are made, for 256 documents at
// once, and no branch depends on a document: QuickScorer (Lucchese et al. 2015) with documents in the lanes of vectors
// (V-QuickScorer 2016, RapidScorer 2018), on codes instead of numbers:
//
// 1. Where a value stands among the thresholds that its feature has anywhere in the ensemble is found once per document,
//    and written as one byte (a feature with more than 255 thresholds has several such columns). `x > t` is then a
//    comparison of bytes, 32 to a vector, and exact. Values that a node sends to a fixed side because they are missing
//    have the code that goes there at every threshold.
// 2. The leaves of a tree stand in order, eight to a slice, and a document has a byte for each slice: one bit a leaf. A
//    node that sends the document to its second child clears the leaves under its first; the leaf that is reached is
//    the first one whose bit is left. The first child is the one with fewer leaves, which lie in few slices.
// 3. The values of the leaves are added up in doubles in the order of the trees, as if each tree were walked alone.
//
// Fewer than kFew documents do not fill the lanes: their trees are walked on the numbers themselves, sixteen trees side by
// side and each for as many steps as its bundle is deep, so that no branch depends on the document here either.
//
// Trees of more than 256 leaves are walked on the same codes, several documents at a time. A block's codes are some 35 kB
// and a tree of 31 leaves half a kB that serves 256 documents, so that trees may come from any cache.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "scoring/forest_lanes.hpp"

namespace pippin {

// Trees one after the other. A tree of n leaves has n − 1 nodes; its root is the first. A child c from 0 on is a node of
// the same tree, which comes after its parent; below 0 it is the leaf −1 − c. Documents with x <= threshold go left.
struct Trees {
    std::span<const std::int64_t> leaves;  // of each tree
    std::span<const std::int64_t> groups;  // the number of trees of each ensemble
    std::span<const std::int32_t> features, left, right;
    std::span<const double> thresholds;
    std::span<const std::uint8_t> missing;  // values of Missing
    std::span<const double> values;         // by leaf
};

// The trees, arranged for scoring; values of at most `zero` in size are treated as 0, and with `single` the sum of an
// ensemble is rounded to single precision after each tree. Throws std::invalid_argument for what are not trees over so many
// features.
Forest pack(const Trees& trees, std::int64_t features, double zero, bool single);

// For each row of the table the sum, over the ensembles, of the sum of their trees' values, each in order. Fewer than kFew
// documents are scored one by one unless `block` is demanded.
void score(const Forest& forest, std::span<const double> table, std::span<double> scores, int threads, ScoreBlock block,
           bool demanded);

// As many numbers as there are values, with one space between them; refuses any other text. Whole numbers only, or also
// "inf", if requested.
void read_numbers(std::string_view text, bool whole, bool infinite, std::span<double> values);

}  // namespace pippin
