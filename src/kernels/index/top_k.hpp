// The best of many hits, best first, ties by the rank of the document's id.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace pippin {

struct Hit {
    double score;
    std::uint32_t rank;  // of the document's id among all ids: ties are settled by it
    std::uint32_t document;
};

inline constexpr auto kBetter = [](const Hit& a, const Hit& b) {
    return (a.score > b.score) | ((a.score == b.score) & (a.rank < b.rank));
};

// Collects hits and drops those that left the top k.
class TopK {
  public:
    // All ranks are below `ranks`.
    TopK(std::size_t wanted, std::size_t ranks) : wanted_(wanted), ranks_(ranks) {}

    // The lowest score that can still enter the top k.
    double least() const { return worst_.score; }
    void add(const Hit& hit) {
        if (kBetter(worst_, hit)) return;
        hits_.push_back(hit);
        if (hits_.size() >= 2 * wanted_ + kSpare) forget_worse();
    }
    // Drops all but the best, so that `least` is as high as possible.
    void forget_worse();
    std::vector<Hit> in_order() &&;

  private:
    static constexpr std::size_t kSpare = 8;  // hits beyond twice k that are kept before the others are dropped

    std::size_t wanted_, ranks_;
    Hit worst_{-std::numeric_limits<double>::infinity(), std::numeric_limits<std::uint32_t>::max(), 0};
    std::vector<Hit> hits_;
};

}  // namespace pippin
