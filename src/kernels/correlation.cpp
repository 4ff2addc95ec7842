// One sweep serves every coefficient: walk down y, put into a tree each item once it is clearly above the item at
// hand, at its position in x, and ask the tree how many of those stand above that item in x too.
#include "correlation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace pippin {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// Counts of inserted positions, by prefix: a bit a position and a tree (Fenwick 1994) over words of 64, so that a million
// positions take a quarter of a megabyte, which a core's own cache holds, and not eight.
class PrefixCounts {
public:
    explicit PrefixCounts(std::int64_t size) : words_(at(size) / 64 + 1, 0), tree_(words_.size() + 1, 0) {}

    void insert(std::int64_t position) {
        const std::size_t word = at(position) / 64;
        words_[word] |= std::uint64_t{1} << (at(position) % 64);
        for (std::size_t node = word + 1; node < tree_.size(); node += node & (~node + 1)) ++tree_[node];
    }

    // How many inserted positions are below `end`.
    std::int64_t before(std::int64_t end) const {
        const std::size_t word = at(end) / 64;
        const std::uint64_t below = (std::uint64_t{1} << (at(end) % 64)) - 1;
        std::int64_t count = std::popcount(words_[word] & below);
        for (std::size_t node = word; node > 0; node &= node - 1) count += tree_[node];
        return count;
    }

private:
    std::vector<std::uint64_t> words_;
    std::vector<std::int64_t> tree_;
};

std::vector<std::int64_t> positions(const TiedRanking& ranking) {
    std::vector<std::int64_t> position(ranking.order.size());
    for (std::int64_t i = 0; i < ranking.size(); ++i) position[at(ranking.order[at(i)])] = i;
    return position;
}

// Calls visit(item, tree) for the items of y from the top, when the tree holds exactly the items clearly above it. That
// set is always a prefix of y's order and only grows on the way down, so every item is inserted once.
template <typename Visit>
void sweep(const TiedRanking& x, const TiedRanking& y, Visit&& visit) {
    const std::vector<std::int64_t> position = positions(x);
    PrefixCounts tree(x.size());
    std::int64_t inserted = 0;
    for (const std::int64_t item : y.order) {
        for (; inserted < y.above[at(item)]; ++inserted) tree.insert(position[at(y.order[at(inserted)])]);
        visit(item, tree);
    }
}

std::int64_t tied_pairs(const TiedRanking& ranking) {
    std::int64_t ordered = 0;
    for (std::size_t i = 0; i < ranking.above.size(); ++i) ordered += ranking.through[i] - ranking.above[i] - 1;
    return ordered / 2;
}

// End of the group of tied items that starts at position `first`.
std::int64_t group_end(const TiedRanking& ranking, std::int64_t first) {
    const std::int64_t above = ranking.above[at(ranking.order[at(first)])];
    std::int64_t end = first + 1;
    while (end < ranking.size() && ranking.above[at(ranking.order[at(end)])] == above) ++end;
    return end;
}

// Pairs of items in positions [first, last) of y that x ties.
std::int64_t tied_in_group(const TiedRanking& x, const TiedRanking& y, std::int64_t first, std::int64_t last,
                           std::vector<std::int64_t>& scratch) {
    scratch.clear();
    for (std::int64_t i = first; i < last; ++i) scratch.push_back(x.above[at(y.order[at(i)])]);
    std::sort(scratch.begin(), scratch.end());
    std::int64_t pairs = 0;
    for (std::size_t i = 1, run = 0; i < scratch.size(); ++i) {
        run = scratch[i] == scratch[i - 1] ? run + 1 : 0;
        pairs += static_cast<std::int64_t>(run);
    }
    return pairs;
}

// The sum, over the members of the group [first, last) of y, of the concordant share of what stands above a member,
// averaged over all orders of the group. A member at position i has `first` items of outside the group above it and
// i - first of inside. The first item of all has nothing above it and no share.
double group_share(const TiedRanking& x, const TiedRanking& y, std::span<const std::int64_t> concordant,
                   std::int64_t first, std::int64_t last, TiedPair tied_pair, std::vector<std::int64_t>& scratch) {
    const double above = static_cast<double>(first);
    const double members = static_cast<double>(last - first);
    std::int64_t outside = 0;
    for (std::int64_t i = first; i < last; ++i) outside += concordant[at(y.order[at(i)])];
    if (last - first == 1) return first == 0 ? 0.0 : static_cast<double>(outside) / above;
    const double inside_share =
        tied_pair == TiedPair::half
            ? 0.5
            : static_cast<double>(tied_in_group(x, y, first, last, scratch)) / (members * (members - 1.0) / 2.0);
    if (first == 0) return inside_share * (members - 1.0);
    const double outside_share = static_cast<double>(outside) / (above * members);
    double inverse = 0.0;
    for (std::int64_t i = first; i < last; ++i) inverse += 1.0 / static_cast<double>(i);
    // The sum of outside_share * first / i + inside_share * (i - first) / i, so written that full concordance gives
    // exactly the number of members.
    return inside_share * members + (outside_share - inside_share) * above * inverse;
}

// One ranking's walk down the depths of an overlap. Items are below the depth, in the group that it cuts, or above.
class DepthWalk {
public:
    enum State : std::uint8_t { below = 0, cut = 1, above = 2 };

    explicit DepthWalk(const TiedRanking& ranking) : ranking_(ranking), state_(ranking.order.size(), below) {}

    // Goes on to `depth` (from 1, one by one) and calls moved(item, from, to) for each item that changes its state.
    template <typename Moved>
    void advance(std::int64_t depth, Moved&& moved) {
        if (depth > end_) {
            for (std::int64_t i = first_; i < end_; ++i) move(ranking_.order[at(i)], above, moved);
            first_ = end_;
            end_ = group_end(ranking_, first_);
            for (std::int64_t i = first_; i < end_; ++i) move(ranking_.order[at(i)], cut, moved);
        }
        share_ = static_cast<double>(depth - first_) / static_cast<double>(end_ - first_);
    }

    State state(std::int64_t item) const { return state_[at(item)]; }
    // Items not below the depth.
    std::int64_t reached() const { return end_; }
    // What one item adds, by its state.
    std::array<double, 3> shares() const { return {0.0, share_, 1.0}; }
    double squared_norm() const {
        return static_cast<double>(first_) + static_cast<double>(end_ - first_) * share_ * share_;
    }

private:
    template <typename Moved>
    void move(std::int64_t item, State to, Moved&& moved) {
        moved(item, state_[at(item)], to);
        state_[at(item)] = to;
    }

    const TiedRanking& ranking_;
    std::vector<State> state_;
    std::int64_t first_ = 0;  // the group at hand is [first_, end_)
    std::int64_t end_ = 0;
    double share_ = 0.0;
};

using StateCounts = std::array<std::array<std::int64_t, 3>, 3>;

double agreement(const StateCounts& counts, const DepthWalk& x, const DepthWalk& y, std::int64_t depth,
                 OverlapTies ties) {
    if (ties == OverlapTies::whole) {
        const std::int64_t common = counts[1][1] + counts[1][2] + counts[2][1] + counts[2][2];
        return 2.0 * static_cast<double>(common) / static_cast<double>(x.reached() + y.reached());
    }
    double overlap = 0.0;
    for (std::size_t i = 1; i < 3; ++i) {
        for (std::size_t j = 1; j < 3; ++j) {
            overlap += static_cast<double>(counts[i][j]) * x.shares()[i] * y.shares()[j];
        }
    }
    return overlap / (ties == OverlapTies::average ? static_cast<double>(depth)
                                                   : std::sqrt(x.squared_norm() * y.squared_norm()));
}

}  // namespace

void rank_with_ties(std::span<const double> values, bool high, double tolerance, std::span<std::int64_t> order,
                    std::span<std::int64_t> above, std::span<std::int64_t> through) {
    struct Keyed {
        double key;  // ascending from the top
        std::int64_t item;
    };
    std::vector<Keyed> sorted(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(values[i])) throw std::invalid_argument("NaN cannot be ranked");
        sorted[i] = {high ? -values[i] : values[i], static_cast<std::int64_t>(i)};
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const Keyed& a, const Keyed& b) { return a.key < b.key || (a.key == b.key && a.item < b.item); });
    // A rounded difference never decreases as its ends move apart, so the items tied with one are its neighbours and
    // both ends of that neighbourhood only move down.
    const auto apart = [tolerance](const Keyed& a, const Keyed& b) {
        return a.key < b.key && !(b.key - a.key < tolerance);
    };
    std::size_t first = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        while (apart(sorted[first], sorted[i])) ++first;
        last = std::max(last, i + 1);
        while (last < sorted.size() && !apart(sorted[i], sorted[last])) ++last;
        order[i] = sorted[i].item;
        above[at(sorted[i].item)] = static_cast<std::int64_t>(first);
        through[at(sorted[i].item)] = static_cast<std::int64_t>(last);
    }
}

void check_rankings(const TiedRanking& x, const TiedRanking& y) {
    const std::size_t size = x.order.size();
    for (const TiedRanking& ranking : {x, y}) {
        if (ranking.order.size() != size || ranking.above.size() != size || ranking.through.size() != size) {
            throw std::invalid_argument("rankings of different lengths");
        }
        for (std::size_t i = 0; i < size; ++i) {
            const bool inside = ranking.order[i] >= 0 && ranking.order[i] < ranking.size() && ranking.above[i] >= 0 &&
                                ranking.above[i] < ranking.through[i] && ranking.through[i] <= ranking.size();
            if (!inside) throw std::invalid_argument("a ranking with an index out of range");
        }
    }
}

PairCounts count_pairs(const TiedRanking& x, const TiedRanking& y) {
    PairCounts counts;
    std::int64_t tied_only_in_x = 0;
    sweep(x, y, [&](std::int64_t item, const PrefixCounts& tree) {
        const std::int64_t first = x.above[at(item)];
        const std::int64_t last = x.through[at(item)];
        const std::int64_t concordant = tree.before(first);
        // The item itself is never in the tree, so a neighbourhood of one needs no second question.
        const std::int64_t tied = last - first > 1 ? tree.before(last) - concordant : 0;
        counts.concordant += concordant;
        counts.discordant += y.above[at(item)] - concordant - tied;
        tied_only_in_x += tied;
    });
    counts.tied_x = tied_pairs(x);
    counts.tied_y = tied_pairs(y);
    counts.tied_both = counts.tied_x - tied_only_in_x;
    return counts;
}

double share_above(const TiedRanking& x, const TiedRanking& y) {
    double total = 0.0;
    std::int64_t pivots = 0;
    sweep(x, y, [&](std::int64_t item, const PrefixCounts& tree) {
        const std::int64_t above = y.above[at(item)];
        if (above == 0) return;
        total += static_cast<double>(tree.before(x.above[at(item)])) / static_cast<double>(above);
        ++pivots;
    });
    return pivots == 0 ? std::numeric_limits<double>::quiet_NaN() : total / static_cast<double>(pivots);
}

double share_above_in_orders(const TiedRanking& x, const TiedRanking& y, TiedPair tied_pair) {
    std::vector<std::int64_t> concordant(x.order.size());
    sweep(x, y, [&](std::int64_t item, const PrefixCounts& tree) {
        concordant[at(item)] = tree.before(x.above[at(item)]);
    });
    std::vector<std::int64_t> scratch;
    double total = 0.0;
    for (std::int64_t first = 0; first < y.size();) {
        const std::int64_t last = group_end(y, first);
        total += group_share(x, y, concordant, first, last, tied_pair, scratch);
        first = last;
    }
    return total / static_cast<double>(y.size() - 1);
}

double rank_biased_overlap(const TiedRanking& x, const TiedRanking& y, double p, OverlapTies ties) {
    DepthWalk walk_x(x);
    DepthWalk walk_y(y);
    StateCounts counts{};
    counts[0][0] = x.size();
    double lost = 0.0;
    double weight = 1.0 - p;  // (1 - p) p^(depth - 1); all weights add to 1
    for (std::int64_t depth = 1; depth <= x.size(); ++depth) {
        walk_x.advance(depth, [&](std::int64_t item, DepthWalk::State from, DepthWalk::State to) {
            --counts[from][walk_y.state(item)];
            ++counts[to][walk_y.state(item)];
        });
        walk_y.advance(depth, [&](std::int64_t item, DepthWalk::State from, DepthWalk::State to) {
            --counts[walk_x.state(item)][from];
            ++counts[walk_x.state(item)][to];
        });
        lost += weight * (1.0 - agreement(counts, walk_x, walk_y, depth, ties));
        weight *= p;
    }
    // Both rankings hold the same items, so from the last depth on they agree fully and nothing more is lost.
    return 1.0 - lost;
}

}  // namespace pippin
