#include "training/pairs.hpp"

#include <algorithm>
#include <vector>

#include "parallel.hpp"

namespace pippin {
namespace {

constexpr std::int64_t kBlock = 16;  // queries handed to a thread at a time

// Counts and sums of rows by level, as a Fenwick tree: adding a row and asking for all levels below one are O(log levels).
class LevelSums {
  public:
    void reset(std::int64_t levels, std::int64_t width) {
        width_ = width;
        counts_.assign(static_cast<std::size_t>(levels + 1), 0.0);
        sums_.assign(static_cast<std::size_t>((levels + 1) * width), 0.0);
        total_.resize(static_cast<std::size_t>(width));
    }

    void add(std::int64_t level, const double* row) {
        const auto end = static_cast<std::int64_t>(counts_.size());
        for (std::int64_t node = level + 1; node < end; node += node & -node) {
            counts_[static_cast<std::size_t>(node)] += 1.0;
            double* sum = sums_.data() + node * width_;
            for (std::int64_t k = 0; k < width_; ++k) sum[k] += row[k];
        }
    }

    // The number of rows at levels below `level`; their sum is then in sum().
    double below(std::int64_t level) {
        double count = 0.0;
        std::fill(total_.begin(), total_.end(), 0.0);
        for (std::int64_t node = level; node > 0; node -= node & -node) {
            count += counts_[static_cast<std::size_t>(node)];
            const double* sum = sums_.data() + node * width_;
            for (std::int64_t k = 0; k < width_; ++k) total_[static_cast<std::size_t>(k)] += sum[k];
        }
        return count;
    }

    const double* sum() const { return total_.data(); }

  private:
    std::int64_t width_ = 0;
    std::vector<double> counts_, sums_, total_;
};

struct Item {
    double score;
    std::int32_t row;
};

// One query in ascending order of scores, gathered so that the sweeps read memory in order. Scores are counted from the
// query's first document, because only differences matter and sums of small numbers keep more digits.
struct Query {
    std::vector<double> scores;
    std::vector<std::int32_t> levels;
    std::int64_t level_count = 0;

    std::int64_t size() const { return static_cast<std::int64_t>(scores.size()); }

    void gather(std::span<const std::int32_t> given_levels, std::span<const double> given,
                std::span<const std::int32_t> order) {
        scores.resize(order.size());
        levels.resize(order.size());
        for (std::size_t position = 0; position < order.size(); ++position) {
            const auto row = static_cast<std::size_t>(order[position]);
            scores[position] = given[row] - given.front();
            levels[position] = given_levels[row];
        }
        level_count = 1 + *std::max_element(levels.begin(), levels.end());
    }
};

struct Scratch {
    Query query;
    LevelSums sums;
    std::vector<Item> items;

    // Rows by ascending score, equal ones in input order. Scores are shifted as in Query, so that both agree on ties.
    void sort(std::span<const double> scores, std::span<std::int32_t> order) {
        items.resize(scores.size());
        for (std::size_t i = 0; i < scores.size(); ++i) items[i] = {scores[i] - scores.front(), static_cast<std::int32_t>(i)};
        std::sort(items.begin(), items.end(),
                  [](const Item& a, const Item& b) { return a.score < b.score || (a.score == b.score && a.row < b.row); });
        for (std::size_t i = 0; i < items.size(); ++i) order[i] = items[i].row;
    }
};

// Calls visit(position, is_better, count, sum) twice for every document: with the documents that should be above it and
// are too low (is_better = false), and with those that should be below it and are too high; sum adds up their row(position).
// Both passes ask the same question of a pair, s_worse + 1 > s_better, so that they agree to the last bit.
template <typename Row, typename Visit>
void sweep(const Query& query, Row&& row, std::int64_t width, LevelSums& sums, Visit&& visit) {
    const double* scores = query.scores.data();
    const std::int32_t* levels = query.levels.data();
    const std::int64_t size = query.size(), top = query.level_count - 1;
    sums.reset(query.level_count, width);
    for (std::int64_t i = 0, next = 0; i < size; ++i) {
        for (; next < size && scores[i] + 1.0 > scores[next]; ++next) sums.add(top - levels[next], row(next));
        const double count = sums.below(top - levels[i]);
        visit(i, false, count, sums.sum());
    }
    sums.reset(query.level_count, width);
    for (std::int64_t i = size - 1, next = size - 1; i >= 0; --i) {
        for (; next >= 0 && scores[next] + 1.0 > scores[i]; --next) sums.add(levels[next], row(next));
        const double count = sums.below(levels[i]);
        visit(i, true, count, sums.sum());
    }
}

struct Stretch {
    std::size_t first, size;
};

Stretch stretch(std::span<const std::int64_t> offsets, std::int64_t query) {
    const auto q = static_cast<std::size_t>(query);
    return {static_cast<std::size_t>(offsets[q]), static_cast<std::size_t>(offsets[q + 1] - offsets[q])};
}

// Loss and gradient of one query, from the counts l± and sums γ± of the scores in active pairs with each document:
// hinge: Σ l⁻(1 − s) + γ⁻ and l⁺ − l⁻; squared, with a = (l⁺ + l⁻)s − γ⁺ − γ⁻ and e = l⁻ − l⁺: Σ s(a − 2e) + l⁻ and 2(a − e).
double loss_of(const Query& query, bool squared, double weight, std::span<const std::int32_t> order, std::span<double> gradient,
               LevelSums& sums) {
    double value = 0.0;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    const auto row = [&](std::int64_t position) { return query.scores.data() + position; };
    sweep(query, row, 1, sums, [&](std::int64_t position, bool better, double count, const double* sum) {
        const double s = query.scores[static_cast<std::size_t>(position)];
        const double sign = better ? 1.0 : -1.0;
        double& slope = gradient[static_cast<std::size_t>(order[static_cast<std::size_t>(position)])];
        if (squared) {
            const double spread = count * s - sum[0];
            value += s * (spread - 2.0 * sign * count) + (better ? count : 0.0);
            slope += 2.0 * weight * (spread - sign * count);
        } else {
            if (better) value += count * (1.0 - s) + sum[0];
            slope -= weight * sign * count;
        }
    });
    return weight * value;
}

}  // namespace

void grade(std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets, std::span<std::int32_t> levels,
           std::span<double> pairs, int threads) {
    parallel_blocks(static_cast<std::int64_t>(pairs.size()), threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        std::vector<std::int32_t> distinct;
        for (std::int64_t q = first; q < last; ++q) {
            const Stretch part = stretch(offsets, q);
            const auto own = labels.subspan(part.first, part.size);
            distinct.assign(own.begin(), own.end());
            std::sort(distinct.begin(), distinct.end());
            const auto total = static_cast<double>(part.size);
            double alike = 0.0;
            for (auto run = distinct.begin(); run != distinct.end();) {
                const auto end = std::upper_bound(run, distinct.end(), *run);
                alike += static_cast<double>(end - run) * static_cast<double>(end - run);
                run = end;
            }
            pairs[static_cast<std::size_t>(q)] = (total * total - alike) / 2.0;
            distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
            for (std::size_t i = 0; i < part.size; ++i) {
                const auto found = std::lower_bound(distinct.begin(), distinct.end(), own[i]);
                levels[part.first + i] = static_cast<std::int32_t>(found - distinct.begin());
            }
        }
    });
}

void pair_losses(const Graded& data, std::span<const double> scores, bool squared, std::span<double> values,
                 std::span<double> gradient, std::span<std::int32_t> order, int threads) {
    parallel_blocks(static_cast<std::int64_t>(values.size()), threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        Scratch scratch;
        for (std::int64_t q = first; q < last; ++q) {
            const Stretch part = stretch(data.offsets, q);
            values[static_cast<std::size_t>(q)] = 0.0;
            if (part.size == 0) continue;
            const auto own_scores = scores.subspan(part.first, part.size);
            const auto own_order = order.subspan(part.first, part.size);
            scratch.sort(own_scores, own_order);
            scratch.query.gather(data.levels.subspan(part.first, part.size), own_scores, own_order);
            values[static_cast<std::size_t>(q)] = loss_of(scratch.query, squared, data.weights[static_cast<std::size_t>(q)],
                                                          own_order, gradient.subspan(part.first, part.size), scratch.sums);
        }
    });
}

void pair_products(const Graded& data, std::span<const double> scores, std::span<const std::int32_t> order,
                   std::span<const double> rows, std::int64_t width, std::span<double> products, int threads) {
    const auto queries = static_cast<std::int64_t>(data.offsets.size()) - 1;
    parallel_blocks(queries, threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        Scratch scratch;
        for (std::int64_t q = first; q < last; ++q) {
            const Stretch part = stretch(data.offsets, q);
            if (part.size == 0) continue;
            const auto own_order = order.subspan(part.first, part.size);
            scratch.query.gather(data.levels.subspan(part.first, part.size), scores.subspan(part.first, part.size), own_order);
            const double* own = rows.data() + static_cast<std::int64_t>(part.first) * width;
            double* out = products.data() + static_cast<std::int64_t>(part.first) * width;
            std::fill(out, out + static_cast<std::int64_t>(part.size) * width, 0.0);
            const double twice = 2.0 * data.weights[static_cast<std::size_t>(q)];
            const auto at = [&](std::int64_t position) { return own_order[static_cast<std::size_t>(position)] * width; };
            const auto row = [&](std::int64_t position) { return own + at(position); };
            sweep(scratch.query, row, width, scratch.sums, [&](std::int64_t position, bool, double count, const double* sum) {
                const double* vector = row(position);
                double* product = out + at(position);
                for (std::int64_t k = 0; k < width; ++k) product[k] += twice * (count * vector[k] - sum[k]);
            });
        }
    });
}

}  // namespace pippin
