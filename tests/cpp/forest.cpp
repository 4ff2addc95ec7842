// Trees of every size, at every length of a block, under sanitizers: each set of instructions against a walk.
#include "scoring/forest.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "check.hpp"

using namespace pippin;

namespace {

struct Grown {
    std::vector<std::int64_t> leaves, groups;
    std::vector<std::int32_t> features, left, right;
    std::vector<double> thresholds, values;
    std::vector<std::uint8_t> missing;

    Trees trees() const { return {leaves, groups, features, left, right, thresholds, missing, values}; }
};

Grown grow(std::mt19937& random, const std::vector<std::int64_t>& leaves, std::int32_t width, int cuts) {
    Grown made;
    made.leaves = leaves;
    made.groups = {static_cast<std::int64_t>(leaves.size()), 0};
    for (const std::int64_t count : leaves) {
        const std::size_t first = made.left.size();
        std::vector<std::int32_t*> ends;
        made.left.resize(first + static_cast<std::size_t>(count - 1));
        made.right.resize(made.left.size());
        for (std::int32_t node = 0; node + 1 < count; ++node) {
            if (node) {
                auto& end = ends[random() % ends.size()];
                *end = node;
                end = ends.back();
                ends.pop_back();
            }
            ends.push_back(&made.left[first + static_cast<std::size_t>(node)]);
            ends.push_back(&made.right[first + static_cast<std::size_t>(node)]);
            made.features.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(width)));
            made.thresholds.push_back(static_cast<double>(random() % static_cast<unsigned>(cuts)) - cuts / 2);
            made.missing.push_back(static_cast<std::uint8_t>(random() % kMissings));
        }
        for (std::size_t leaf = 0; leaf < ends.size(); ++leaf) *ends[leaf] = -1 - static_cast<std::int32_t>(leaf);
        for (std::int64_t leaf = 0; leaf < count; ++leaf) made.values.push_back(static_cast<double>(random()) / 7);
    }
    return made;
}

bool goes_left(double x, double threshold, Missing missing) {
    const bool nan = std::isnan(x), zero = nan || x == 0;
    if (missing == Missing::nan_left || missing == Missing::nan_right)
        return nan ? missing == Missing::nan_left : x <= threshold;
    if (zero && missing != Missing::as_zero) return missing == Missing::zero_left;
    return (nan ? 0.0 : x) <= threshold;
}

double walk(const Grown& made, const double* row) {
    double sum = 0;
    std::size_t node = 0, leaf = 0;
    for (const std::int64_t count : made.leaves) {
        std::int32_t at = count > 1 ? 0 : -1;
        while (at >= 0) {
            const std::size_t i = node + static_cast<std::size_t>(at);
            at = goes_left(row[made.features[i]], made.thresholds[i], static_cast<Missing>(made.missing[i])) ? made.left[i]
                                                                                                             : made.right[i];
        }
        sum += made.values[leaf + static_cast<std::size_t>(-1 - at)];
        node += static_cast<std::size_t>(count - 1);
        leaf += static_cast<std::size_t>(count);
    }
    return sum;
}

void compare(std::mt19937& random, const std::vector<std::int64_t>& leaves, std::size_t rows, int cuts) {
    constexpr std::int32_t kWidth = 3;
    const Grown made = grow(random, leaves, kWidth, cuts);
    const Forest forest = pack(made.trees(), kWidth, 0.0, false);
    std::vector<double> table(rows * kWidth), scores(rows);
    for (double& value : table) {
        const unsigned kind = random() % 10;
        value = kind == 0   ? std::nan("")
                : kind == 1 ? std::numeric_limits<double>::infinity()
                            : (random() % (2U * cuts)) / 2.0 - cuts / 2;
    }
    for (const char* name : {"plain", "avx2", "avx512"}) {
        const ScoreBlock block = score_block(name);
        if (!block) continue;
        score(forest, table, scores, 2, block, true);
        for (std::size_t i = 0; i < rows; ++i) CHECK(scores[i] == walk(made, table.data() + i * kWidth));
    }
    for (std::size_t i = 0; i < rows; ++i) {
        const std::span<const double> row(table.data() + i * kWidth, kWidth);
        score(forest, row, {scores.data() + i, 1}, 1, score_block(), false);
        CHECK(scores[i] == walk(made, row.data()));
    }
}

template <typename Change>
void refused(Change&& change) {
    std::mt19937 random(1);
    Grown made = grow(random, {5, 3}, 2, 10);
    pack(made.trees(), 2, 0.0, false);
    change(made);
    try {
        pack(made.trees(), 2, 0.0, false);
    } catch (const std::invalid_argument&) {
        return;
    }
    CHECK(false);
}

}  // namespace

int main() {
    std::mt19937 random(7);
    for (const std::size_t rows : {0UL, 1UL, 31UL, 32UL, 33UL, 100UL, 255UL, 256UL, 257UL, 700UL})
        compare(random, {1, 2, 8, 9, 31, 32, 33, 64, 65, 256, 257, 400, 1}, rows, 40);
    for (const int cuts : {1, 16, 17, 255, 256, 300, 5000}) compare(random, {200, 3000, 31}, 40, cuts);
    refused([](Grown& made) { made.left[0] = 100; });
    refused([](Grown& made) { made.left[0] = 0; });
    refused([](Grown& made) { made.right[3] = std::numeric_limits<std::int32_t>::min(); });
    refused([](Grown& made) { made.right[0] = made.left[0]; });
    refused([](Grown& made) { made.leaves[0] = 6; });
    refused([](Grown& made) { made.leaves[0] = std::numeric_limits<std::int64_t>::max(); });
    refused([](Grown& made) { made.groups[0] = 1; });
    refused([](Grown& made) { made.features[1] = 2; });
    refused([](Grown& made) { made.missing[1] = kMissings; });
    refused([](Grown& made) { made.thresholds[1] = std::nan(""); });
    return check::summary();
}
