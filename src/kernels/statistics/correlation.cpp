// One sweep serves every coefficient: walk down y, put into a tree each item once it is clearly above the item at
// hand, at its position in x, and ask the tree how many of those are above that item in x too.
#include "statistics/correlation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "ranking/radix.hpp"

namespace pippin {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

// A number whose order is that of the doubles, and back.
std::uint64_t ascending_bits(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    return bits & kSign ? ~bits : bits | kSign;
}

double of_ascending_bits(std::uint64_t bits) { return std::bit_cast<double>(bits & kSign ? bits & ~kSign : ~bits); }

// 64 numbers that are 0 up to any place and 1 after it, at every offset.
template <typename Count>
constexpr std::array<Count, 128> kAfter = [] {
    std::array<Count, 128> steps{};
    std::fill(steps.begin() + 64, steps.end(), Count{1});
    return steps;
}();

// Counts of inserted positions, by prefix: a bit a position, and for every word of 64, group of 64 words and block of 64
// groups how many were inserted before it in the group, the block, or at all. Asking takes four numbers, and inserting
// adds to whole rows of 64, which vectors do in a few steps; a million positions take a fifth of a megabyte.
class PrefixCounts {
  public:
    explicit PrefixCounts(std::int64_t size)
        : whole_(at(size) / (kFan * kFan * kFan) + 1, 0), groups_(whole_.size() * kFan, 0), words_(groups_.size() * kFan, 0),
          bits_(words_.size(), 0) {}

    void insert(std::int64_t position) {
        const std::size_t word = at(position) / kFan, group = word / kFan, block = group / kFan;
        bits_[word] |= std::uint64_t{1} << (at(position) % kFan);
        count_after(&words_[group * kFan], word % kFan);
        count_after(&groups_[block * kFan], group % kFan);
        for (std::size_t b = block + 1; b < whole_.size(); ++b) ++whole_[b];
    }

    // The number of inserted positions below `end`.
    std::int64_t before(std::int64_t end) const {
        const std::size_t word = at(end) / kFan, group = word / kFan;
        const std::uint64_t below = (std::uint64_t{1} << (at(end) % kFan)) - 1;
        return whole_[group / kFan] + groups_[group] + words_[word] + std::popcount(bits_[word] & below);
    }

  private:
    static constexpr std::size_t kFan = 64;

    template <typename Count>
    static void count_after(Count* counts, std::size_t place) {
        const Count* const steps = &kAfter<Count>[kFan - 1 - place];
        for (std::size_t i = 0; i < kFan; ++i) counts[i] = static_cast<Count>(counts[i] + steps[i]);
    }

    std::vector<std::int64_t> whole_;
    std::vector<std::int32_t> groups_;
    std::vector<std::uint16_t> words_;
    std::vector<std::uint64_t> bits_;
};

std::vector<std::int64_t> positions(const TiedRanking& ranking) {
    std::vector<std::int64_t> position(ranking.order.size());
    for (std::int64_t i = 0; i < ranking.size(); ++i) position[at(ranking.order[at(i)])] = i;
    return position;
}

// What both rankings say of one item.
struct Standing {
    std::int64_t position, above, through;  // in x
    std::int64_t above_in_y;
};

// The items of y from the top. They lie anywhere in x: all are fetched before any is used, so that the processor waits
// for many at once.
std::vector<Standing> standings(const TiedRanking& x, const TiedRanking& y) {
    const std::vector<std::int64_t> position = positions(x);
    std::vector<Standing> found(y.order.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t item = at(y.order[i]);
        found[i] = {position[item], x.above[item], x.through[item], y.above[item]};
    }
    return found;
}

// Calls visit(i, standing, tree) for the items of y from the top, when the tree holds exactly the items clearly above the
// one at hand. That set is always a prefix of y's order and only grows on the way down, so every item is inserted once.
template <typename Visit>
void sweep(const TiedRanking& x, const TiedRanking& y, Visit&& visit) {
    const std::vector<Standing> items = standings(x, y);
    PrefixCounts tree(x.size());
    std::size_t inserted = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        for (; inserted < at(items[i].above_in_y); ++inserted) tree.insert(items[inserted].position);
        visit(i, items[i], tree);
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

// The sum, over the members of the group [first, last) of y, of the concordant share of the items above a member,
// averaged over all orders of the group. A member at position i has `first` items of outside the group above it and
// i - first of inside. The first item of all has nothing above it and no share.
double group_share(const TiedRanking& x, const TiedRanking& y, std::span<const std::int64_t> concordant, std::int64_t first,
                   std::int64_t last, TiedPair tied_pair, std::vector<std::int64_t>& scratch) {
    const double above = static_cast<double>(first);
    const double members = static_cast<double>(last - first);
    std::int64_t outside = 0;
    for (std::int64_t i = first; i < last; ++i) outside += concordant[at(i)];
    if (last - first == 1) return first == 0 ? 0.0 : static_cast<double>(outside) / above;
    const double inside_share = tied_pair == TiedPair::half ? 0.5
                                                            : static_cast<double>(tied_in_group(x, y, first, last, scratch)) /
                                                                  (members * (members - 1.0) / 2.0);
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
    double squared_norm() const { return static_cast<double>(first_) + static_cast<double>(end_ - first_) * share_ * share_; }

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

double agreement(const StateCounts& counts, const DepthWalk& x, const DepthWalk& y, std::int64_t depth, OverlapTies ties) {
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
    return overlap /
           (ties == OverlapTies::average ? static_cast<double>(depth) : std::sqrt(x.squared_norm() * y.squared_norm()));
}

}  // namespace

void rank_with_ties(std::span<const double> values, bool high, double tolerance, std::span<std::int64_t> order,
                    std::span<std::int64_t> above, std::span<std::int64_t> through) {
    std::vector<KeyedItem> entries(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(values[i])) throw std::invalid_argument("NaN cannot be ranked");
        const double key = (high ? -values[i] : values[i]) + 0.0;  // ascending from the top; −0 is 0
        entries[i] = {ascending_bits(key), static_cast<std::int64_t>(i)};
    }
    radix_sort(entries);
    std::vector<double> sorted(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) sorted[i] = of_ascending_bits(entries[i].key);
    // A rounded difference never decreases as its ends move apart, so the items tied with one are its neighbours and
    // both ends of that neighbourhood only move down.
    const auto apart = [tolerance](double a, double b) { return a < b && !(b - a < tolerance); };
    std::size_t first = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        while (apart(sorted[first], sorted[i])) ++first;
        last = std::max(last, i + 1);
        while (last < sorted.size() && !apart(sorted[i], sorted[last])) ++last;
        const std::int64_t item = entries[i].item;
        order[i] = item;
        above[at(item)] = static_cast<std::int64_t>(first);
        through[at(item)] = static_cast<std::int64_t>(last);
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
    sweep(x, y, [&](std::size_t, const Standing& item, const PrefixCounts& tree) {
        const std::int64_t concordant = tree.before(item.above);
        // The item itself is never in the tree, so a neighbourhood of one needs no second question.
        const std::int64_t tied = item.through - item.above > 1 ? tree.before(item.through) - concordant : 0;
        counts.concordant += concordant;
        counts.discordant += item.above_in_y - concordant - tied;
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
    sweep(x, y, [&](std::size_t, const Standing& item, const PrefixCounts& tree) {
        if (item.above_in_y == 0) return;
        total += static_cast<double>(tree.before(item.above)) / static_cast<double>(item.above_in_y);
        ++pivots;
    });
    return pivots == 0 ? std::numeric_limits<double>::quiet_NaN() : total / static_cast<double>(pivots);
}

double share_above_in_orders(const TiedRanking& x, const TiedRanking& y, TiedPair tied_pair) {
    std::vector<std::int64_t> concordant(x.order.size());  // by position in y
    sweep(x, y,
          [&](std::size_t i, const Standing& item, const PrefixCounts& tree) { concordant[i] = tree.before(item.above); });
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
