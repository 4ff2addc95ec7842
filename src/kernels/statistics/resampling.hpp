// Resampling of per-query values for significance tests: sign flips, bootstrap, permutations of systems.
// values is a table queries × systems, row by row. The random bits of a replicate are a pure function of
// (seed, replicate), so neither the number of threads nor the way [begin, end) is cut changes a bit of any result.
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

struct ScoreTable {
    std::span<const double> values;
    std::int64_t queries = 0;
    std::int64_t systems = 0;
};

struct Replicates {
    std::int64_t begin = 0;  // replicates begin … end − 1 of the sequence that the seed names
    std::int64_t end = 0;
    std::uint64_t seed = 0;
    int threads = 1;
};

// One pair per position: systems first[p] and second[p], counted where its flipped difference reaches threshold[p].
struct FlipPairs {
    std::span<const std::int32_t> first;
    std::span<const std::int32_t> second;
    std::span<const double> thresholds;
    bool two_sided = true;  // compare the absolute difference
};

// counts[p] += number of replicates in which Σ_q s_q (x_q,first − x_q,second) >= threshold, s_q = ±1.
// The signs of a replicate are shared by all pairs: with S = Σ_q s_q x_q a pair costs one subtraction, S_i − S_j.
// exact: bit q of the replicate's number is the sign of query q, so 0 … 2^queries − 1 enumerates every assignment.
void count_sign_flips(const ScoreTable& table, const FlipPairs& pairs, bool exact, const Replicates& replicates,
                      std::span<std::int64_t> counts);

// means[r, s] = mean of system s over `queries` queries drawn with replacement, the same draw for every system.
void bootstrap_means(const ScoreTable& table, const Replicates& replicates, std::span<double> means);

// ranges[r] = largest minus smallest sum over queries after the systems' values are permuted within each query.
void permuted_ranges(const ScoreTable& table, const Replicates& replicates, std::span<double> ranges);

}  // namespace pippin
