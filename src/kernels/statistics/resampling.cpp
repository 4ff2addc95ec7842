#include "statistics/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "parallel.hpp"

namespace pippin {
namespace {

constexpr std::int64_t kTile = 16;     // replicates side by side, so that the comparisons run in vector registers
constexpr std::int64_t kBlock = 1024;  // replicates a thread takes at a time
constexpr std::int64_t kMaxExactQueries = 40;

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

// SplitMix64 (Steele, Lea and Flood 2014) read at any place: its state is a counter.
class Words {
  public:
    Words(std::uint64_t seed, std::uint64_t purpose) : key_(mix(seed + mix(purpose))) {}
    std::uint64_t operator[](std::uint64_t index) const { return mix(key_ + (index + 1) * 0x9E3779B97F4A7C15ULL); }

  private:
    std::uint64_t key_;
};

// An integer in [0, bound) from 32 random bits; the bias is at most bound / 2^32.
std::int64_t below(std::uint64_t bits, std::int64_t bound) {
    return static_cast<std::int64_t>(((bits & 0xFFFFFFFFULL) * static_cast<std::uint64_t>(bound)) >> 32);
}

std::uint64_t unsigned_of(std::int64_t x) { return static_cast<std::uint64_t>(x); }
std::size_t size_of(std::int64_t x) { return static_cast<std::size_t>(x); }

void check(const ScoreTable& table, const Replicates& replicates) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (table.queries < 1 || table.systems < 1 || table.queries > most || table.systems > most ||
        table.values.size() != size_of(table.queries) * size_of(table.systems))
        throw std::invalid_argument("values must be a table of at least one query and one system");
    if (replicates.begin < 0 || replicates.end < replicates.begin)
        throw std::invalid_argument("replicates must run from begin >= 0 to end >= begin");
}

void check(const ScoreTable& table, const FlipPairs& pairs, std::span<std::int64_t> counts) {
    const std::size_t n = counts.size();
    if (pairs.first.size() != n || pairs.second.size() != n || pairs.thresholds.size() != n)
        throw std::invalid_argument("first, second, thresholds and counts must be equally long");
    const auto outside = [&](std::int32_t system) { return system < 0 || system >= table.systems; };
    if (std::any_of(pairs.first.begin(), pairs.first.end(), outside) ||
        std::any_of(pairs.second.begin(), pairs.second.end(), outside))
        throw std::invalid_argument("a pair names a system outside the table");
}

// sums[s · kTile + r] = Σ_q ± x_q,s for the replicates of one tile, left to right over the queries.
class SignTile {
  public:
    SignTile(const ScoreTable& table, bool exact, std::uint64_t seed)
        : table_(table), exact_(exact), words_(seed, 1), per_replicate_((table.queries + 63) / 64),
          sums_(size_of(table.systems * kTile)) {}

    void fill(std::int64_t replicate, std::int64_t live) {
        double start[kTile];
        // A lane beyond the last replicate holds NaN, which no comparison counts.
        for (std::int64_t r = 0; r < kTile; ++r) start[r] = r < live ? 0.0 : std::numeric_limits<double>::quiet_NaN();
        for (std::int64_t s = 0; s < table_.systems; ++s) std::copy(start, start + kTile, sums_.data() + s * kTile);
        std::uint64_t bits[kTile];
        double sign[kTile];
        for (std::int64_t q = 0; q < table_.queries; ++q) {
            if (q % 64 == 0)
                for (std::int64_t r = 0; r < kTile; ++r) bits[r] = word(replicate + r, q / 64);
            for (std::int64_t r = 0; r < kTile; ++r) {
                sign[r] = (bits[r] & 1) != 0 ? -1.0 : 1.0;
                bits[r] >>= 1;
            }
            const double* row = table_.values.data() + q * table_.systems;
            for (std::int64_t s = 0; s < table_.systems; ++s) {
                double* sum = sums_.data() + s * kTile;
                const double x = row[s];
                for (std::int64_t r = 0; r < kTile; ++r) sum[r] += sign[r] * x;
            }
        }
    }

    const double* of(std::int32_t system) const { return sums_.data() + std::int64_t{system} * kTile; }

  private:
    std::uint64_t word(std::int64_t replicate, std::int64_t index) const {
        if (exact_) return unsigned_of(replicate);
        return words_[unsigned_of(replicate) * unsigned_of(per_replicate_) + unsigned_of(index)];
    }

    const ScoreTable& table_;
    bool exact_;
    Words words_;
    std::int64_t per_replicate_;
    std::vector<double> sums_;
};

void count_tile(const SignTile& tile, const FlipPairs& pairs, std::span<std::int64_t> counts) {
    for (std::size_t p = 0; p < counts.size(); ++p) {
        const double* a = tile.of(pairs.first[p]);
        const double* b = tile.of(pairs.second[p]);
        const double threshold = pairs.thresholds[p];
        std::int64_t reached = 0;
        if (pairs.two_sided)
            for (std::int64_t r = 0; r < kTile; ++r) reached += std::fabs(a[r] - b[r]) >= threshold ? 1 : 0;
        else
            for (std::int64_t r = 0; r < kTile; ++r) reached += a[r] - b[r] >= threshold ? 1 : 0;
        counts[p] += reached;
    }
}

}  // namespace

void count_sign_flips(const ScoreTable& table, const FlipPairs& pairs, bool exact, const Replicates& replicates,
                      std::span<std::int64_t> counts) {
    check(table, replicates);
    check(table, pairs, counts);
    if (exact && (table.queries > kMaxExactQueries || replicates.end > (std::int64_t{1} << table.queries)))
        throw std::invalid_argument("an exact enumeration ends at 2^queries, with at most 40 queries");
    std::mutex guard;
    const std::int64_t total = replicates.end - replicates.begin;
    parallel_blocks(total, replicates.threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        SignTile tile(table, exact, replicates.seed);
        std::vector<std::int64_t> own(counts.size(), 0);
        for (std::int64_t r = first; r < last; r += kTile) {
            tile.fill(replicates.begin + r, std::min(kTile, last - r));
            count_tile(tile, pairs, own);
        }
        // Integers: the order in which blocks arrive does not matter.
        const std::lock_guard lock(guard);
        for (std::size_t p = 0; p < own.size(); ++p) counts[p] += own[p];
    });
}

void bootstrap_means(const ScoreTable& table, const Replicates& replicates, std::span<double> means) {
    check(table, replicates);
    const std::int64_t total = replicates.end - replicates.begin;
    if (means.size() != size_of(total) * size_of(table.systems))
        throw std::invalid_argument("means must be a table of replicates by systems");
    const Words words(replicates.seed, 2);
    const std::int64_t n = table.queries;
    const std::int64_t per_replicate = (n + 1) / 2;
    parallel_blocks(total, replicates.threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        std::vector<std::int32_t> drawn(size_of(n));
        for (std::int64_t r = first; r < last; ++r) {
            std::fill(drawn.begin(), drawn.end(), 0);
            const std::uint64_t base = unsigned_of(replicates.begin + r) * unsigned_of(per_replicate);
            for (std::int64_t k = 0; k < n; ++k) {
                const std::uint64_t word = words[base + unsigned_of(k / 2)];
                ++drawn[size_of(below(k % 2 == 0 ? word : word >> 32, n))];
            }
            double* out = means.data() + r * table.systems;
            std::fill(out, out + table.systems, 0.0);
            for (std::int64_t q = 0; q < n; ++q) {
                if (drawn[size_of(q)] == 0) continue;
                const double times = drawn[size_of(q)];
                const double* row = table.values.data() + q * table.systems;
                for (std::int64_t s = 0; s < table.systems; ++s) out[s] += times * row[s];
            }
            for (std::int64_t s = 0; s < table.systems; ++s) out[s] /= static_cast<double>(n);
        }
    });
}

void permuted_ranges(const ScoreTable& table, const Replicates& replicates, std::span<double> ranges) {
    check(table, replicates);
    const std::int64_t total = replicates.end - replicates.begin;
    if (ranges.size() != size_of(total)) throw std::invalid_argument("ranges must hold one value per replicate");
    const Words words(replicates.seed, 3);
    const std::int64_t systems = table.systems;
    const std::int64_t per_query = systems / 2;  // two draws a word, systems − 1 draws a query
    const std::int64_t per_replicate = per_query * table.queries;
    parallel_blocks(total, replicates.threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        std::vector<double> sums(size_of(systems));
        std::vector<double> row(size_of(systems));
        for (std::int64_t r = first; r < last; ++r) {
            std::fill(sums.begin(), sums.end(), 0.0);
            std::uint64_t index = unsigned_of(replicates.begin + r) * unsigned_of(per_replicate);
            for (std::int64_t q = 0; q < table.queries; ++q) {
                const double* values = table.values.data() + q * systems;
                std::copy(values, values + systems, row.begin());
                std::uint64_t word = 0;
                // Fisher and Yates: each place from the last takes one of the values still left.
                for (std::int64_t place = systems - 1, draw = 0; place > 0; --place, ++draw) {
                    word = draw % 2 == 0 ? words[index++] : word >> 32;
                    double& taken = row[size_of(below(word, place + 1))];
                    sums[size_of(place)] += taken;
                    taken = row[size_of(place)];
                }
                sums[0] += row[0];
            }
            const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
            ranges[size_of(r)] = *high - *low;
        }
    });
}

}  // namespace pippin
