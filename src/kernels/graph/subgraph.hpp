// A set of pages of a large graph and the links among them. Membership is one bit per page of the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/links.hpp"

namespace pippin {

// Eight bits at a time and all sums by one product: not every processor counts bits, and to call a function takes longer.
inline std::int32_t count_bits(std::uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return static_cast<std::int32_t>(word * 0x0101010101010101 >> 56);
}

// Pages of a graph as bits, and once they are numbered, the place of each among them in ascending order.
class PageSet {
  public:
    explicit PageSet(std::int64_t pages);

    std::int64_t pages() const { return pages_; }  // of the graph

    // The pages of either set, not numbered; both are of one graph.
    PageSet operator|(const PageSet& other) const;

    // The pages that were not there before, each once. Throws for one that the graph does not have.
    std::vector<std::int64_t> add(std::span<const std::int64_t> pages);

    // The members, ascending, which are numbered by this until more are added.
    std::vector<std::int64_t> number();

    bool has(std::uint32_t page) const { return bits_[page / 64] >> page % 64 & 1; }

    // The place of a member.
    std::int32_t slot(std::uint32_t page) const {
        const std::uint64_t lower = (std::uint64_t{1} << page % 64) - 1;
        return before_[page / 64] + count_bits(bits_[page / 64] & lower);
    }

    // The place of each page, −1 for pages that are not members.
    void slots(std::span<const std::int64_t> pages, std::span<std::int64_t> found) const;

    // Returns the number of members; throws if members have been added since they were numbered.
    std::size_t size() const;

  private:
    std::int64_t pages_;
    std::vector<std::uint64_t> bits_;
    std::vector<std::int32_t> before_;  // members before each word of bits
    std::size_t size_ = 0;
    bool numbered_ = true;
};

// The links among some pages, and those links that lead to a page q with S > 0, each with the share S(q)/Σ S⁺ of q
// among all pages that p links to, inside and outside the set.
struct InnerLinks {
    std::vector<std::int64_t> offsets{0}, weighted_offsets{0};
    std::vector<std::int32_t> columns, weighted_columns;  // places among the pages
    std::vector<double> weights;
};

// `pages` are the members of `inside`; S is `scores` for the members of `scored`, 0 for others.
InnerLinks inner_links(const Lists& lists, const PageSet& inside, std::span<const std::int64_t> pages, const PageSet& scored,
                       std::span<const double> scores, int threads);

}  // namespace pippin
