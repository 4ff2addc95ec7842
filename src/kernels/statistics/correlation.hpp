// Counting pairs of items that two rankings order alike, in O(n log n), when either ranking may tie items. A ranking
// is settled once, by rank_with_ties; everything else works on counts and never sees a score again.
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

// One ranking of n items. Position 0 is the top.
struct TiedRanking {
    std::span<const std::int64_t> order;    // the item at each position
    std::span<const std::int64_t> above;    // by item: how many items are clearly above it
    std::span<const std::int64_t> through;  // by item: how many are clearly above it or tied with it, itself included

    std::int64_t size() const { return static_cast<std::int64_t>(order.size()); }
};

// Ranks values, highest (or lowest) first. Two items tie if they are equal or closer than `tolerance`; items need not
// tie transitively, which is why a ranking holds two counts an item rather than group numbers. Throws
// std::invalid_argument on NaN.
void rank_with_ties(std::span<const double> values, bool high, double tolerance, std::span<std::int64_t> order,
                    std::span<std::int64_t> above, std::span<std::int64_t> through);

// Throws std::invalid_argument unless both rankings have one size and every index in them is in range.
void check_rankings(const TiedRanking& x, const TiedRanking& y);

// Counts of the n(n-1)/2 pairs of items: concordant + discordant + tied_x + tied_y - tied_both.
struct PairCounts {
    std::int64_t concordant = 0;
    std::int64_t discordant = 0;
    std::int64_t tied_x = 0;
    std::int64_t tied_y = 0;
    std::int64_t tied_both = 0;
};

PairCounts count_pairs(const TiedRanking& x, const TiedRanking& y);

// Mean, over the items of y that have anything clearly above them, of the share of those above that x puts above too.
// NaN if y has no such item.
double share_above(const TiedRanking& x, const TiedRanking& y);

// The value of a pair tied in y, averaged over the orders of its group.
enum class TiedPair : int {
    half = 0,   // concordant in one of the two orders
    agreed = 1  // concordant in both if x ties it too, in neither otherwise
};

// As share_above, over all items but the first, averaged over all orders of the items that y ties (transitively).
double share_above_in_orders(const TiedRanking& x, const TiedRanking& y, TiedPair tied_pair);

// The contribution of an item of a tied group to the overlap at a depth that cuts the group.
enum class OverlapTies : int {
    whole = 0,     // all of it: every item of the group stands at the group's first position
    average = 1,   // its chance of being above the depth in a random order of the group
    corrected = 2  // the same, and the agreement is a cosine, so that a ranking agrees fully with itself
};

// Extrapolated rank-biased overlap, persistence p, of two rankings of the same items with transitive ties.
double rank_biased_overlap(const TiedRanking& x, const TiedRanking& y, double p, OverlapTies ties);

}  // namespace pippin
