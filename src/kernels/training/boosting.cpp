#pragma GCC optimize("no-math-errno")  // a square root without a look at errno can be vectorised
#include "training/boosting.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "parallel.hpp"

namespace pippin {
namespace {

constexpr std::int64_t kCodes = 256;
constexpr double kLargestExponent = 600.0;
constexpr double kWork = 50000.0;  // what a thread must have to do before it is worth starting one

std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

std::int64_t block_size(std::int64_t cost) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(kWork / static_cast<double>(std::max<std::int64_t>(1, cost))));
}

double middle(const Levels& levels, std::int64_t q, std::span<const double> scores, double& range) {
    const auto [low, high] = std::minmax_element(scores.begin() + levels.first(q), scores.begin() + levels.last(q));
    range = *high - *low;
    return *low + range / 2;
}

Stump better(const Stump& best, const Stump& other) { return std::abs(other.gain) > std::abs(best.gain) ? other : best; }

Stump first_best(std::span<const Stump> stumps) {
    Stump best;
    for (const Stump& stump : stumps) best = better(best, stump);
    return best;
}

}  // namespace

Mass boost_potential(const Levels& levels, std::span<const double> scores, std::span<double> potential, std::span<double> up,
                     std::span<double> down, int threads) {
    std::vector<double> ranges(size_of(levels.count())), masses(size_of(levels.count()));
    for (std::int64_t q = 0; q < levels.count(); ++q) middle(levels, q, scores, ranges[size_of(q)]);
    const double widest = ranges.empty() ? 0.0 : *std::max_element(ranges.begin(), ranges.end());
    Mass mass{0.0, std::max(0.0, widest - kLargestExponent)};
    const std::int64_t mean = levels.rows() / std::max<std::int64_t>(1, levels.count());
    parallel_blocks(levels.count(), threads, block_size(20 * mean), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t q = begin; q < end; ++q) {
            double range;
            const double centre = middle(levels, q, scores, range), weight = levels.weights[size_of(q)];
            double below = 0.0, above = 0.0, total = 0.0;
            for (std::int64_t i = levels.first(q); i < levels.last(q); ++i) {
                up[size_of(i)] = std::exp(scores[size_of(i)] - centre - mass.shift / 2);
                down[size_of(i)] =
                    mass.shift > 0 ? std::exp(centre - scores[size_of(i)] - mass.shift / 2) : 1.0 / up[size_of(i)];
            }
            for (std::int64_t b = levels.block(q + 1) - 1; b >= levels.block(q); --b) {
                double inside = 0.0;
                for (std::int64_t i = levels.cut(b); i < levels.cut(b + 1); ++i) {
                    potential[size_of(i)] = weight * down[size_of(i)] * below;
                    total += down[size_of(i)] * below;
                    inside += up[size_of(i)];
                }
                below += inside;
            }
            for (std::int64_t b = levels.block(q); b < levels.block(q + 1); ++b) {
                double inside = 0.0;
                for (std::int64_t i = levels.cut(b); i < levels.cut(b + 1); ++i) {
                    potential[size_of(i)] -= weight * up[size_of(i)] * above;
                    inside += down[size_of(i)];
                }
                above += inside;
            }
            masses[size_of(q)] = weight * total;
        }
    });
    mass.total = std::accumulate(masses.begin(), masses.end(), 0.0);
    for (double& value : potential) value /= mass.total;
    return mass;
}

Stump search_potential(const Codes& codes, std::span<const double> potential, bool positive_only, int threads) {
    const auto rows = static_cast<std::int64_t>(potential.size());
    std::vector<Stump> stumps(size_of(codes.columns()));
    parallel_blocks(codes.columns(), threads, block_size(rows), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
            std::array<double, kCodes> even{}, odd{};  // two, so that neighbours with one code do not wait for each other
            const std::uint8_t* code = codes.codes.data() + c * rows;
            std::int64_t i = 0;
            for (; i + 1 < rows; i += 2) {
                even[code[i]] += potential[size_of(i)];
                odd[code[i + 1]] += potential[size_of(i + 1)];
            }
            if (i < rows) even[code[i]] += potential[size_of(i)];
            std::array<double, kCodes> above{};  // above[t] = Σ over codes > t
            for (std::int64_t t = kCodes - 2; t >= 0; --t)
                above[size_of(t)] = above[size_of(t + 1)] + even[size_of(t + 1)] + odd[size_of(t + 1)];
            for (std::int64_t t = 0; t < codes.counts[size_of(c)]; ++t)
                if (!positive_only || above[size_of(t)] > 0)
                    stumps[size_of(c)] = better(stumps[size_of(c)], {c, t, above[size_of(t)], 0.0, 0.0});
        }
    });
    return first_best(stumps);
}

void order_codes(const Levels& levels, const Codes& codes, std::span<std::int32_t> order, int threads) {
    const std::int64_t rows = levels.rows();
    parallel_blocks(codes.columns(), threads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
            std::int32_t* mine = order.data() + c * rows;
            const std::uint8_t* code = codes.codes.data() + c * rows;
            std::iota(mine, mine + rows, 0);
            for (std::int64_t q = 0; q < levels.count(); ++q)
                std::stable_sort(mine + levels.first(q), mine + levels.last(q),
                                 [&](std::int32_t a, std::int32_t b) { return code[a] > code[b]; });
        }
    });
}

namespace {

// Sums per label of the rows where h is 1 and where it is 0, while rows turn from 0 to 1 one by one.
struct Sides {
    std::vector<double> on_down, on_up, off_down, off_up;

    void begin(const Levels& levels, std::int64_t q, std::span<const double> up, std::span<const double> down) {
        const auto blocks = size_of(levels.block(q + 1) - levels.block(q));
        on_down.assign(blocks, 0.0);
        on_up.assign(blocks, 0.0);
        off_down.assign(blocks, 0.0);
        off_up.assign(blocks, 0.0);
        for (std::size_t b = 0; b < blocks; ++b)
            for (std::int64_t i = levels.cut(levels.block(q) + static_cast<std::int64_t>(b));
                 i < levels.cut(levels.block(q) + static_cast<std::int64_t>(b) + 1); ++i) {
                off_down[b] += down[size_of(i)];
                off_up[b] += up[size_of(i)];
            }
    }
    // What W₊ and W₋ gain when a row of block b turns to 1.
    std::pair<double, double> turn(std::size_t b, double row_up, double row_down) {
        off_up[b] -= row_up;
        off_down[b] -= row_down;
        double below_off = 0, below_on = 0, above_off = 0, above_on = 0;
        for (std::size_t y = 0; y < b; ++y) {
            above_off += off_down[y];
            above_on += on_down[y];
        }
        for (std::size_t y = b + 1; y < on_up.size(); ++y) {
            below_off += off_up[y];
            below_on += on_up[y];
        }
        on_up[b] += row_up;
        on_down[b] += row_down;
        return {row_down * below_off - row_up * above_on, row_up * above_off - row_down * below_on};
    }
};

// The threshold with the largest |√W₊ − √W₋| given what each code adds to both.
Stump best_threshold(std::int64_t c, std::int64_t count, std::span<const double> plus, std::span<const double> minus,
                     bool positive_only) {
    Stump best;
    double right = 0.0, wrong = 0.0;
    std::array<Stump, kCodes> found;
    for (std::int64_t t = kCodes - 2; t >= 0; --t) {
        right += plus[size_of(t + 1)];
        wrong += minus[size_of(t + 1)];
        const double w = std::max(0.0, right), v = std::max(0.0, wrong);
        found[size_of(t)] = {c, t, std::sqrt(w) - std::sqrt(v), w, v};
    }
    for (std::int64_t t = 0; t < count; ++t)
        if (!positive_only || found[size_of(t)].gain > 0) best = better(best, found[size_of(t)]);
    return best;
}

}  // namespace

Stump search_exact(const Levels& levels, const Codes& codes, std::span<const std::int32_t> order, std::span<const double> up,
                   std::span<const double> down, double total, bool positive_only, int threads) {
    const std::int64_t rows = levels.rows();
    std::vector<std::size_t> block_of(size_of(rows));
    for (std::int64_t q = 0; q < levels.count(); ++q)
        for (std::int64_t b = levels.block(q); b < levels.block(q + 1); ++b)
            std::fill(block_of.begin() + levels.cut(b), block_of.begin() + levels.cut(b + 1), size_of(b - levels.block(q)));
    std::vector<Stump> stumps(size_of(codes.columns()));
    parallel_blocks(codes.columns(), threads, 1, [&](std::int64_t begin, std::int64_t end) {
        Sides sides;
        for (std::int64_t c = begin; c < end; ++c) {
            std::array<double, kCodes> plus{}, minus{};
            for (std::int64_t q = 0; q < levels.count(); ++q) {
                const double weight = levels.weights[size_of(q)] / total;
                sides.begin(levels, q, up, down);
                for (std::int64_t k = levels.first(q); k < levels.last(q); ++k) {
                    const auto row = static_cast<std::size_t>(order[size_of(c * rows + k)]);
                    const std::uint8_t code = codes.codes[size_of(c * rows) + row];
                    if (code == 0) break;  // no threshold lies below it, nor below those after it
                    const auto [right, wrong] = sides.turn(block_of[row], up[row], down[row]);
                    plus[code] += weight * right;
                    minus[code] += weight * wrong;
                }
            }
            stumps[size_of(c)] = best_threshold(c, codes.counts[size_of(c)], plus, minus, positive_only);
        }
    });
    return first_best(stumps);
}

namespace {

constexpr double kLargestScore = 340.0;  // e^(2 · 340) is still a number, and W is 0 long before

// e^(H − centre) and its inverse for the rows of a query.
void exponentials(const Levels& levels, std::int64_t q, std::span<const double> scores, std::vector<double>& grow,
                  std::vector<double>& shrink) {
    double range;
    const double centre = middle(levels, q, scores, range);
    const std::int64_t first = levels.first(q), size = levels.last(q) - first;
    grow.resize(size_of(size));
    shrink.resize(size_of(size));
    for (std::int64_t i = 0; i < size; ++i) {
        const double score = std::clamp(scores[size_of(first + i)] - centre, -kLargestScore, kLargestScore);
        grow[size_of(i)] = std::exp(score);
        shrink[size_of(i)] = std::exp(-score);
    }
}

// weight[j] = W and kept[j] = 1 − loss of the pairs of a row with e^S = grow · shrink[j].
void weigh(double grow, const double* shrink, std::int64_t size, double* weight, double* kept) {
    for (std::int64_t j = 0; j < size; ++j) {
        const double odds = grow * shrink[j], share = 1.0 / (1.0 + odds), root = std::sqrt(odds * share);
        kept[j] = root;
        weight[j] = root * share;
    }
}

std::int64_t pairs_block(const Levels& levels) {
    const std::int64_t count = std::max<std::int64_t>(1, levels.count()), mean = levels.rows() / count;
    return block_size(mean * mean);
}

// Calls visit(row, first row of lower label, e^S of it …) for every row of query q that has lower labels below it.
template <typename Visit>
void for_rows(const Levels& levels, std::int64_t q, Visit&& visit) {
    for (std::int64_t b = levels.block(q); b + 1 < levels.block(q + 1); ++b)
        for (std::int64_t i = levels.cut(b); i < levels.cut(b + 1); ++i) visit(i, levels.cut(b + 1));
}

}  // namespace

double fidelity(const Levels& levels, std::span<const double> scores, std::span<double> potential, int threads) {
    std::vector<double> losses(size_of(levels.count()));
    parallel_blocks(levels.count(), threads, pairs_block(levels), [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> grow, shrink, weight, kept;
        for (std::int64_t q = begin; q < end; ++q) {
            exponentials(levels, q, scores, grow, shrink);
            const std::int64_t first = levels.first(q), last = levels.last(q);
            const double share = levels.weights[size_of(q)];
            weight.resize(grow.size());
            kept.resize(grow.size());
            if (!potential.empty()) std::fill(potential.begin() + first, potential.begin() + last, 0.0);
            double loss = 0.0;
            for_rows(levels, q, [&](std::int64_t i, std::int64_t from) {
                const std::int64_t size = last - from;
                weigh(grow[size_of(i - first)], shrink.data() + (from - first), size, weight.data(), kept.data());
                double held = 0.0, pull = 0.0;
                for (std::int64_t j = 0; j < size; ++j) held += kept[size_of(j)];
                loss += static_cast<double>(size) - held;
                if (potential.empty()) return;
                for (std::int64_t j = 0; j < size; ++j) pull += weight[size_of(j)];
                for (std::int64_t j = 0; j < size; ++j) potential[size_of(from + j)] -= share * weight[size_of(j)];
                potential[size_of(i)] += share * pull;
            });
            losses[size_of(q)] = share * loss;
        }
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

Split fidelity_split(const Levels& levels, std::span<const double> scores, std::span<const std::uint8_t> h, double step,
                     int threads) {
    std::vector<Split> splits(size_of(levels.count()));
    std::vector<double> moved(scores.begin(), scores.end());
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * h[i];
    parallel_blocks(levels.count(), threads, pairs_block(levels), [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> grow, shrink;
        for (std::int64_t q = begin; q < end; ++q) {
            exponentials(levels, q, moved, grow, shrink);
            const std::int64_t first = levels.first(q), last = levels.last(q);
            Split split;
            for_rows(levels, q, [&](std::int64_t i, std::int64_t from) {
                for (std::int64_t j = from; j < last; ++j) {
                    if (h[size_of(i)] == h[size_of(j)]) continue;
                    const double odds = grow[size_of(i - first)] * shrink[size_of(j - first)], share = 1.0 / (1.0 + odds);
                    const double weight = std::sqrt(odds * share) * share;
                    (h[size_of(i)] ? split.plus : split.minus) += weight;
                    split.curvature += weight / 2 * (1.0 - 1.5 * share);
                }
            });
            const double weight = levels.weights[size_of(q)];
            splits[size_of(q)] = {weight * split.plus, weight * split.minus, weight * split.curvature};
        }
    });
    Split sum;
    for (const Split& split : splits) {
        sum.plus += split.plus;
        sum.minus += split.minus;
        sum.curvature += split.curvature;
    }
    return sum;
}

namespace {

constexpr std::size_t kBatch = 2048;  // pairs whose weights are worked out together; they stay in the nearest cache

// The pairs of one row with all rows of lower labels, and where their weights begin.
struct Pairs {
    std::int64_t row, from, last;
    std::size_t weights;
    double sum;
};

// What pairs add to W₊ and W₋ by the code of one feature, as differences between neighbouring thresholds. Thresholds from
// the lower code up to below the higher one separate a pair. `table` has −W₊ first, then W₋, so that every pair adds its
// weight at its lower row's code, on the one side or the other. Which side is arithmetic: a branch would be guessed wrong
// half of the time.
void add_pairs(const std::vector<Pairs>& batch, const double* weights, const std::uint8_t* code, double* table) {
    for (const Pairs& pairs : batch) {
        const std::uint32_t upper = code[pairs.row];
        const double* weight = weights + pairs.weights;
        double wrong = 0.0;
        for (std::int64_t j = pairs.from; j < pairs.last; ++j, ++weight) {
            const std::uint32_t lower = code[j], above = (upper - lower) >> 31;  // 1 where the lower row has the higher code
            table[lower | above << 8] += *weight;
            wrong += std::bit_cast<double>(std::bit_cast<std::uint64_t>(*weight) & -std::uint64_t{above});
        }
        table[upper] -= pairs.sum - wrong;
        table[upper + kCodes] -= wrong;
    }
}

}  // namespace

void fidelity_search(const Levels& levels, const Codes& codes, std::span<const double> scores, std::span<Stump> stumps,
                     int threads) {
    const std::int64_t rows = levels.rows(), even = (codes.columns() + threads - 1) / threads;
    parallel_blocks(codes.columns(), threads, even, [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> grow, shrink, kept, weights;
        std::vector<double> tables(size_of((end - begin) * 2 * kCodes));
        std::vector<Pairs> batch;
        const auto table = [&](std::int64_t c) { return tables.data() + (c - begin) * 2 * kCodes; };
        const auto add_batch = [&] {
            for (std::int64_t c = begin; c < end; ++c)
                add_pairs(batch, weights.data(), codes.codes.data() + c * rows, table(c));
            batch.clear();
            weights.clear();
        };
        for (std::int64_t q = 0; q < levels.count(); ++q) {
            exponentials(levels, q, scores, grow, shrink);
            const std::int64_t first = levels.first(q), last = levels.last(q);
            const double share = levels.weights[size_of(q)];
            kept.resize(grow.size());
            for_rows(levels, q, [&](std::int64_t i, std::int64_t from) {
                const std::size_t before = weights.size(), size = size_of(last - from);
                weights.resize(before + size);
                const std::span own(weights.data() + before, size);
                weigh(grow[size_of(i - first)], shrink.data() + (from - first), last - from, own.data(), kept.data());
                double sum = 0.0;
                for (double& weight : own) sum += weight *= share;
                batch.push_back({i, from, last, before, sum});
                if (weights.size() >= kBatch) add_batch();
            });
        }
        add_batch();
        std::array<double, kCodes> plus;
        for (std::int64_t c = begin; c < end; ++c) {
            const std::span<const double> minus(table(c) + kCodes, size_of(kCodes));
            for (std::int64_t t = 0; t < kCodes; ++t) plus[size_of(t)] = -table(c)[t];
            stumps[size_of(c)] = best_threshold(c, codes.counts[size_of(c)], plus, minus, false);
        }
    });
}

void weighted_sums(std::span<const double> table, std::span<const double> weights, std::span<double> sums, int threads) {
    const auto width = static_cast<std::int64_t>(weights.size());
    parallel_blocks(static_cast<std::int64_t>(sums.size()), threads, block_size(width),
                    [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t r = begin; r < end; ++r) {
                            const double* row = table.data() + r * width;
                            double sum = 0.0;
                            for (std::int64_t i = 0; i < width; ++i) sum += row[i] * weights[size_of(i)];
                            sums[size_of(r)] = sum;
                        }
                    });
}

}  // namespace pippin
