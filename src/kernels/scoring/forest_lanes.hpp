// Packed trees and the scoring of one block of documents: see scoring/forest.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace pippin {

constexpr std::int64_t kBlock = 256;      // documents whose codes are compared together
constexpr std::int64_t kFew = 6;          // documents that are scored together from here on
constexpr std::int64_t kFan = 16;         // thresholds that a step of a search compares with
constexpr std::int64_t kCuts = 255;       // thresholds that a byte tells apart
constexpr std::int64_t kMostSlices = 32;  // whose leaves a byte tells apart

// Where documents go whose value is missing at a node.
enum class Missing : std::uint8_t {
    as_zero,     // NaN is treated as 0
    nan_left,    // NaN goes to the left child
    nan_right,   // NaN goes to the right child
    zero_left,   // NaN and what counts as zero go left
    zero_right,  // NaN and what counts as zero go right
};
constexpr std::uint8_t kMissings = 5;

// The sorted thresholds of one feature, in levels: the last has them all, each one above the last of every kFan of the
// level below but of its last group. Groups of kFan are filled up with infinity, which no value exceeds.
struct Search {
    std::int64_t feature, count;       // of thresholds
    std::int64_t column, columns;      // where its codes go: one column for every kCuts thresholds
    std::array<std::int64_t, 8> first; // of each level in `cuts`
    int levels;
    Missing missing;
};

// A node in one slice: documents on its second side lose these leaves of the slice.
struct Test {
    std::uint32_t codes;  // where the codes of its column begin in a block
    std::int8_t threshold;
    std::uint8_t leaves;
};

// Eight leaves: tests that hold where the code is above the threshold, then tests that hold where it is not.
struct Slice {
    std::uint8_t above, upto;
};

// A node that is walked; child 1 is for codes above the threshold, and below 0 a child is the leaf −1 − child.
struct Step {
    std::uint32_t codes;
    std::int32_t child[2];
    std::int8_t threshold;
};

struct Tree {
    std::int64_t values;  // where the values of its leaves begin
    std::int64_t nodes;   // where its tests (or steps) begin
    std::int64_t slice;   // where its slices begin: the last one comes first
    std::int32_t slices;  // 0: it is walked
    bool last;            // of its ensemble
};

// A node or leaf for scoring few documents. The children of a node are neighbours: the second is for values above the
// threshold. A leaf is its own child; its threshold is its value, and its search is one whose value is below all.
struct Junction {
    double threshold;
    std::uint32_t child, search;
};

// Trees of nearly equal depth that are walked together.
constexpr std::size_t kTogether = 16;
struct Bundle {
    std::array<std::uint32_t, kTogether> at, tree;  // roots, and the numbers of the trees
    std::int32_t depth;
};

struct Forest {
    std::int64_t features, columns;
    double zero;  // what counts as zero: |x| <= zero
    bool single;  // whether sums are rounded to single precision after each tree
    std::vector<Search> searches;
    std::vector<double> cuts, values;
    std::vector<Tree> trees;
    std::vector<Slice> slices;
    std::vector<Test> tests;
    std::vector<Step> steps;
    std::vector<Junction> junctions;
    std::vector<Bundle> bundles;  // none: few documents are scored like many
};

// Scores of at most kBlock rows of features; `codes` has kBlock bytes per column, at a multiple of 64 bytes.
using ScoreBlock = void (*)(const Forest& forest, const double* rows, std::int64_t count, std::int8_t* codes, double* scores);

// The fastest that this processor can run, or that of a name ("plain", "avx2", "avx512"); null where it cannot run it.
ScoreBlock score_block(const char* name = nullptr);

}  // namespace pippin
