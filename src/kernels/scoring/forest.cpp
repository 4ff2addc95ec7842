#include "scoring/forest.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "text/from_chars.hpp"
#include "parallel.hpp"

namespace pippin {
namespace {

void refuse(bool wrong, const char* why) {
    if (wrong) throw std::invalid_argument(why);
}

// One tree of `Trees`.
struct One {
    std::int64_t leaves, first_node, first_leaf;
};

std::vector<One> check(const Trees& all, std::int64_t features) {
    refuse(features < 1, "trees need a feature");
    std::vector<One> trees;
    std::int64_t nodes = 0, leaves = 0;
    for (const std::int64_t count : all.leaves) {
        refuse(count < 1 || count > std::numeric_limits<std::int32_t>::max(),
               "a tree needs at least one leaf and at most 2^31 - 1");
        trees.push_back({count, nodes, leaves});
        nodes += count - 1;
        leaves += count;
    }
    for (const std::size_t size :
         {all.features.size(), all.left.size(), all.right.size(), all.thresholds.size(), all.missing.size()})
        refuse(static_cast<std::int64_t>(size) != nodes, "the trees have not as many nodes as they say");
    refuse(static_cast<std::int64_t>(all.values.size()) != leaves, "the trees have not as many leaves as they say");
    std::int64_t grouped = 0;
    for (const std::int64_t count : all.groups) {
        refuse(count < 0 || count > static_cast<std::int64_t>(trees.size()) - grouped,
               "the ensembles have not as many trees as they say");
        grouped += count;
    }
    refuse(grouped != static_cast<std::int64_t>(trees.size()), "the ensembles have not as many trees as they say");
    for (std::size_t i = 0; i < all.features.size(); ++i) {
        refuse(all.features[i] < 0 || all.features[i] >= features, "a tree splits by a feature that is not there");
        refuse(all.missing[i] >= kMissings, "unknown rule for missing values in a tree");
        refuse(all.thresholds[i] != all.thresholds[i], "a threshold is not a number");
    }
    return trees;
}

// The position of each threshold of the ensemble: its column and its number there.
struct Place {
    std::int64_t column;
    std::int64_t number;
    std::size_t search;
};

// Lays out the levels of a search over ascending thresholds.
void add_levels(Forest& forest, Search& search, std::vector<double> cuts) {
    std::vector<std::vector<double>> levels{std::move(cuts)};
    for (;;) {
        std::vector<double>& below = levels.back();
        const std::size_t fan = kFan, groups = std::max<std::size_t>(1, (below.size() + fan - 1) / fan);
        below.resize(groups * fan, std::numeric_limits<double>::infinity());
        if (groups == 1) break;
        std::vector<double> above;
        for (std::size_t g = 0; g + 1 < groups; ++g) above.push_back(below[g * fan + fan - 1]);
        levels.push_back(std::move(above));
    }
    refuse(levels.size() > search.first.size(), "the trees have too many thresholds");
    search.levels = static_cast<int>(levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
        const std::vector<double>& level = levels[levels.size() - 1 - i];
        search.first[i] = static_cast<std::int64_t>(forest.cuts.size());
        forest.cuts.insert(forest.cuts.end(), level.begin(), level.end());
    }
}

// The threshold for values as they are that decides as t does once what counts as zero is 0.
double decisive(double t, double zero) {
    if (t > zero || t < -zero) return t;
    return t >= 0 ? zero : std::nextafter(-zero, -std::numeric_limits<double>::infinity());
}

// Gathers the thresholds of every feature and way of missing, and tells where each node's stands among them.
std::vector<Place> add_searches(Forest& forest, const Trees& all) {
    std::map<std::pair<std::int32_t, std::uint8_t>, std::vector<std::size_t>> nodes;
    for (std::size_t i = 0; i < all.features.size(); ++i) nodes[{all.features[i], all.missing[i]}].push_back(i);
    std::vector<Place> places(all.features.size());
    for (const auto& [key, which] : nodes) {
        std::vector<double> cuts;
        for (const std::size_t i : which) cuts.push_back(decisive(all.thresholds[i], forest.zero));
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        const auto count = static_cast<std::int64_t>(cuts.size());
        Search search{key.first, count, forest.columns, (count + kCuts - 1) / kCuts, {}, 0, static_cast<Missing>(key.second)};
        for (const std::size_t i : which) {
            const double cut = decisive(all.thresholds[i], forest.zero);
            const std::int64_t rank = std::lower_bound(cuts.begin(), cuts.end(), cut) - cuts.begin();
            places[i] = {search.column + rank / kCuts, rank % kCuts, forest.searches.size()};
        }
        add_levels(forest, search, std::move(cuts));
        forest.columns += search.columns;
        forest.searches.push_back(search);
    }
    refuse(forest.columns > std::numeric_limits<std::uint32_t>::max() / kBlock, "the trees have too many thresholds");
    return places;
}

// Number of leaves below each node, and their first position if the child with fewer leaves comes first.
struct Layout {
    std::vector<std::int64_t> sizes, starts;  // by node
    std::vector<std::int64_t> leaves;         // where each leaf stands
    std::vector<bool> swapped;                // whether the right child comes first
};

Layout lay_out(const Trees& all, const One& tree) {
    const auto nodes = static_cast<std::size_t>(tree.leaves - 1), first = static_cast<std::size_t>(tree.first_node);
    Layout layout{std::vector<std::int64_t>(nodes, 0), std::vector<std::int64_t>(nodes, 0),
                  std::vector<std::int64_t>(nodes + 1, -1), std::vector<bool>(nodes, false)};
    std::vector<bool> reached(nodes + 1, false), leaf_reached(nodes + 1, false);
    const auto size = [&](std::int32_t child) { return child < 0 ? 1 : layout.sizes[static_cast<std::size_t>(child)]; };
    for (std::size_t i = nodes; i-- > 0;) {
        for (const std::int32_t child : {all.left[first + i], all.right[first + i]}) {
            const std::int64_t at = child < 0 ? -1 - static_cast<std::int64_t>(child) : child;
            refuse(child >= 0 ? at <= static_cast<std::int64_t>(i) || at >= tree.leaves - 1 : at >= tree.leaves,
                   "a node of a tree has a child that is not there, or that comes before it");
            auto mark = (child < 0 ? leaf_reached : reached)[static_cast<std::size_t>(at)];
            refuse(mark, "a tree has a node or a leaf that is reached twice");
            mark = true;
            layout.sizes[i] += size(child);
        }
    }
    for (std::size_t i = 0; i < nodes; ++i) {  // every other node was reached: n − 1 nodes have 2n − 2 children, all unlike
        std::int32_t one = all.left[first + i], two = all.right[first + i];
        if (size(one) > size(two)) {
            std::swap(one, two);
            layout.swapped[i] = true;
        }
        const auto place = [&](std::int32_t child, std::int64_t start) {
            (child < 0 ? layout.leaves[static_cast<std::size_t>(-1 - child)] : layout.starts[static_cast<std::size_t>(child)]) =
                start;
        };
        place(one, layout.starts[i]);
        place(two, layout.starts[i] + size(one));
    }
    if (!nodes) layout.leaves[0] = 0;
    return layout;
}

// The tests of a tree by slice, the last slice first.
void add_slices(Forest& forest, const Trees& all, const One& one, const Layout& layout, const std::vector<Place>& places) {
    const auto slices = static_cast<std::size_t>((one.leaves + 7) / 8);
    std::vector<std::vector<Test>> above(slices), upto(slices);
    for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
        const std::size_t node = static_cast<std::size_t>(one.first_node) + i;
        const std::int32_t child = layout.swapped[i] ? all.right[node] : all.left[node];
        const std::int64_t start = layout.starts[i];
        const std::int64_t end = start + (child < 0 ? 1 : layout.sizes[static_cast<std::size_t>(child)]);
        for (std::int64_t s = start / 8; s * 8 < end; ++s) {
            const int low = static_cast<int>(std::max<std::int64_t>(start - s * 8, 0));
            const int high = static_cast<int>(std::min<std::int64_t>(end - s * 8, 8));
            const Test test{static_cast<std::uint32_t>(places[node].column * kBlock),
                            static_cast<std::int8_t>(places[node].number - 128),
                            static_cast<std::uint8_t>(((1 << high) - 1) & ~((1 << low) - 1))};
            (layout.swapped[i] ? upto : above)[static_cast<std::size_t>(s)].push_back(test);
        }
    }
    for (std::size_t s = slices; s-- > 0;) {
        forest.slices.push_back({static_cast<std::uint8_t>(above[s].size()), static_cast<std::uint8_t>(upto[s].size())});
        for (const auto* tests : {&above[s], &upto[s]}) forest.tests.insert(forest.tests.end(), tests->begin(), tests->end());
    }
}

void add_steps(Forest& forest, const Trees& all, const One& one, const std::vector<Place>& places) {
    for (std::int64_t i = one.first_node; i < one.first_node + one.leaves - 1; ++i) {
        const auto node = static_cast<std::size_t>(i);
        forest.steps.push_back({static_cast<std::uint32_t>(places[node].column * kBlock),
                                {all.left[node], all.right[node]},
                                static_cast<std::int8_t>(places[node].number - 128)});
    }
}

// The trees for few documents; none if a value could not be replaced by an infinity that takes the side of missing ones.
void add_bundles(Forest& forest, const Trees& all, const std::vector<One>& trees, const std::vector<Place>& places) {
    constexpr std::size_t kLargest = std::numeric_limits<std::uint32_t>::max();
    if (trees.empty() || 2 * all.values.size() > kLargest) return;
    for (std::size_t i = 0; i < all.features.size(); ++i) {
        const auto missing = static_cast<Missing>(all.missing[i]);
        if ((missing == Missing::nan_right || missing == Missing::zero_right) &&
            decisive(all.thresholds[i], forest.zero) == std::numeric_limits<double>::infinity())
            return;
    }
    const auto leaf_search = static_cast<std::uint32_t>(forest.searches.size());
    struct Root {
        std::uint32_t at, tree;
        std::int32_t depth;
    };
    std::vector<Root> roots;
    for (const One& one : trees) {
        struct Waiting {
            std::size_t at;
            std::int32_t child, depth;
        };
        Root root{static_cast<std::uint32_t>(forest.junctions.size()), static_cast<std::uint32_t>(roots.size()), 0};
        std::vector<Waiting> queue{{root.at, one.leaves > 1 ? 0 : -1, 0}};
        forest.junctions.emplace_back();
        for (std::size_t next = 0; next < queue.size(); ++next) {
            const auto [at, child, depth] = queue[next];
            if (child < 0) {
                const auto leaf = static_cast<std::size_t>(one.first_leaf - 1 - child);
                forest.junctions[at] = {all.values[leaf], static_cast<std::uint32_t>(at), leaf_search};
                root.depth = std::max(root.depth, depth);
                continue;
            }
            const auto node = static_cast<std::size_t>(one.first_node + child);
            const std::size_t first = forest.junctions.size();
            forest.junctions[at] = {decisive(all.thresholds[node], forest.zero), static_cast<std::uint32_t>(first),
                                    static_cast<std::uint32_t>(places[node].search)};
            forest.junctions.resize(first + 2);
            queue.push_back({first, all.left[node], depth + 1});
            queue.push_back({first + 1, all.right[node], depth + 1});
        }
        roots.push_back(root);
    }
    std::stable_sort(roots.begin(), roots.end(), [](const Root& a, const Root& b) { return a.depth < b.depth; });
    const auto count = static_cast<std::uint32_t>(roots.size());
    while (roots.size() % kTogether) roots.push_back({roots.back().at, count, roots.back().depth});  // to no tree's sum
    for (std::size_t i = 0; i < roots.size(); i += kTogether) {
        Bundle bundle{{}, {}, roots[i + kTogether - 1].depth};
        for (std::size_t k = 0; k < kTogether; ++k) {
            bundle.at[k] = roots[i + k].at;
            bundle.tree[k] = roots[i + k].tree;
        }
        forest.bundles.push_back(bundle);
    }
}

// The value that a search compares with thresholds: missing ones are the infinity of the side that they take.
double compared(const Search& search, double zero, double value) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool is_missing = value != value;
    switch (search.missing) {
        case Missing::as_zero: return is_missing ? 0.0 : value;
        case Missing::nan_left: return is_missing ? -kInfinity : value;
        case Missing::nan_right: return is_missing ? kInfinity : value;
        case Missing::zero_left: return is_missing || std::fabs(value) <= zero ? -kInfinity : value;
        case Missing::zero_right: return is_missing || std::fabs(value) <= zero ? kInfinity : value;
    }
    return value;
}

// The score of one document; `values` has a place for each search and one more, `reached` for each tree and one more.
double score_one(const Forest& forest, const double* row, double* values, double* reached) {
    const std::size_t searches = forest.searches.size();
    for (std::size_t s = 0; s < searches; ++s)
        values[s] = compared(forest.searches[s], forest.zero, row[forest.searches[s].feature]);
    values[searches] = -std::numeric_limits<double>::infinity();
    const Junction* const junctions = forest.junctions.data();
    for (const Bundle& bundle : forest.bundles) {
        std::array<std::uint32_t, kTogether> at = bundle.at;
        for (std::int32_t step = 0; step < bundle.depth; ++step)
            for (std::uint32_t& place : at) {
                const Junction& junction = junctions[place];
                place = junction.child + static_cast<std::uint32_t>(values[junction.search] > junction.threshold);
            }
        for (std::size_t k = 0; k < kTogether; ++k) reached[bundle.tree[k]] = junctions[at[k]].threshold;
    }
    double total = 0.0, sum = 0.0;
    for (std::size_t t = 0; t < forest.trees.size(); ++t) {
        sum += reached[t];
        if (forest.single) sum = static_cast<double>(static_cast<float>(sum));
        if (!forest.trees[t].last) continue;
        total += sum;
        sum = 0.0;
    }
    return total;
}

double read_number(std::string_view word, bool whole, bool infinite) {
    if (infinite && word == "inf") return std::numeric_limits<double>::infinity();
    const char *const first = word.data(), *const last = first + word.size();
    std::int64_t number = 0;
    double value = 0;
    const auto read = whole ? std::from_chars(first, last, number) : from_chars(first, last, value);
    refuse(read.ec == std::errc::result_out_of_range, "a number is not finite");
    refuse(read.ec != std::errc() || read.ptr != last || !std::isfinite(value), "there is something else than numbers");
    return whole ? static_cast<double>(number) : value;
}

}  // namespace

Forest pack(const Trees& all, std::int64_t features, double zero, bool single) {
    const std::vector<One> trees = check(all, features);
    Forest forest{features, 0, zero, single, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    const std::vector<Place> places = add_searches(forest, all);
    for (const One& one : trees) {
        const bool sliced = one.leaves <= 8 * kMostSlices;
        Tree tree{static_cast<std::int64_t>(forest.values.size()),
                  static_cast<std::int64_t>(sliced ? forest.tests.size() : forest.steps.size()),
                  static_cast<std::int64_t>(forest.slices.size()), static_cast<std::int32_t>(sliced ? (one.leaves + 7) / 8 : 0),
                  false};
        const Layout layout = lay_out(all, one);
        if (sliced) add_slices(forest, all, one, layout, places);
        else add_steps(forest, all, one, places);
        // Padded to whole vectors: the scorer reads four or eight values at once.
        const std::int64_t padded = !sliced ? one.leaves : tree.slices <= 4 ? 32 : std::max<std::int64_t>(64, tree.slices * 8);
        forest.values.resize(forest.values.size() + static_cast<std::size_t>(padded), 0.0);
        for (std::int64_t leaf = 0; leaf < one.leaves; ++leaf) {
            const std::int64_t place = sliced ? layout.leaves[static_cast<std::size_t>(leaf)] : leaf;
            forest.values[static_cast<std::size_t>(tree.values + place)] =
                all.values[static_cast<std::size_t>(one.first_leaf + leaf)];
        }
        forest.trees.push_back(tree);
    }
    std::int64_t last = -1;
    for (const std::int64_t count : all.groups) {
        last += count;
        if (count) forest.trees[static_cast<std::size_t>(last)].last = true;
    }
    add_bundles(forest, all, trees, places);
    return forest;
}

void read_numbers(std::string_view text, bool whole, bool infinite, std::span<double> values) {
    std::size_t at = 0;
    for (double& value : values) {
        refuse(at > text.size(), "there are fewer numbers than there should be");
        const std::size_t stop = std::min(text.find(' ', at), text.size());
        value = read_number(text.substr(at, stop - at), whole, infinite);
        at = stop + 1;
    }
    refuse(at != (values.empty() ? 0 : text.size() + 1), "there are more numbers than there should be");
}

void score(const Forest& forest, std::span<const double> table, std::span<double> scores, int threads, ScoreBlock block,
           bool demanded) {
    const auto rows = static_cast<std::int64_t>(scores.size());
    if (!demanded && rows < kFew && !forest.bundles.empty()) {
        std::vector<double> values(forest.searches.size() + 1), reached(forest.trees.size() + 1);
        for (std::int64_t i = 0; i < rows; ++i)
            scores[static_cast<std::size_t>(i)] =
                score_one(forest, table.data() + i * forest.features, values.data(), reached.data());
        return;
    }
    const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
    parallel_blocks(blocks, threads, 1, [&](std::int64_t first, std::int64_t last) {
        struct alignas(64) Line {
            std::int8_t codes[64];
        };
        std::vector<Line> codes(static_cast<std::size_t>(forest.columns * kBlock / 64));
        for (std::int64_t b = first; b < last; ++b) {
            const std::int64_t from = b * kBlock, count = std::min(kBlock, rows - from);
            block(forest, table.data() + from * forest.features, count, codes.empty() ? nullptr : codes[0].codes,
                  scores.data() + from);
        }
    });
}

}  // namespace pippin
