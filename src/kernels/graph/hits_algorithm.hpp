// HITS and topical HITS of one graph, whose links are reordered once for many iterations.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "graph/links.hpp"

namespace pippin {

// How an iteration ended; the residual is the L1 change of the last round, 0 without links.
struct End {
    std::int64_t rounds;
    double residual;
};

// Links from hubs (pages with links out) to authorities (pages with links in), each numbered by its number of links, most
// first: lists of one length follow each other, so that branches are predictable, and the values that are read most
// lie close together. All other pages have the value 0.
class HubLinks {
  public:
    explicit HubLinks(const Lists& lists);

    // Rounds of a = Aᵀh and h = Aa, each scaled to length 1, from the hubs given; [pages] in place.
    End hits(std::span<double> authority, std::span<double> hub, double tolerance, std::int64_t rounds) const;

    // Rounds of a = s·Aᵀh + (1−α)·a₀ and h = t·Aa + (1−α)·h₀ from the a₀ and h₀ given; [pages] in place. With s = α/|Aᵀh|
    // and t = α/|Aa| at the plain authorities a and their hubs h.
    End topical(std::span<const double> plain, double alpha, std::span<double> authority, std::span<double> hub,
                double tolerance, std::int64_t rounds) const;

    std::size_t pages() const { return pages_; }

  private:
    using Values = std::vector<double>;

    template <typename Shape>
    void there_and_back(const Values& authority, Shape&& shape, Values& hub, Values& back) const;
    Values back_from(const Values& hub) const;
    End start() const { return {0, columns_.empty() ? 0.0 : std::numeric_limits<double>::infinity()}; }

    std::size_t pages_;
    std::vector<std::int32_t> hubs_, authorities_;  // the page of each number
    std::vector<std::int64_t> offsets_;             // of each hub
    std::vector<std::int32_t> columns_;             // numbers of authorities
};

}  // namespace pippin
