// Sums along links: a graph is a list of neighbours per page (offsets and columns). Sums run in the order of the lists,
// one term after the other, whatever the number of threads.
#pragma once

#include <cstdint>
#include <span>

namespace pippin {

struct Lists {
    std::span<const std::int64_t> offsets;  // one more than there are pages
    std::span<const std::int32_t> columns;

    std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
    std::span<const std::int32_t> of(std::int64_t page) const {
        return columns.subspan(offsets[page], offsets[page + 1] - offsets[page]);
    }
    // Throws unless the offsets ascend within the columns and every column is below `pages`.
    void check(std::int64_t pages) const;
};

// sums(p) = Σ values(q) over the list of p; rows of `width` numbers.
void link_sums(const Lists& lists, std::span<const double> values, std::int64_t width, std::span<double> sums,
               int threads);

// next(p) = kept(p) + share · Σ weight(p, q)·h(q), rows of `width` numbers; the greatest |next − h|.
double propagate_once(const Lists& lists, std::span<const double> weights, std::span<const double> kept, double share,
                      std::span<const double> h, std::int64_t width, std::span<double> next);

// The links of `pages` that lead to a page with a slot (0 is none, else 1 + its number): the end of each page's list,
// the number, and the place among all links of `pages`. How many there are.
std::int64_t links_inside(const Lists& lists, std::span<const std::int64_t> pages, std::span<const std::int32_t> slots,
                          std::span<std::int64_t> ends, std::span<std::int32_t> columns, std::span<std::int32_t> places);

// The values at the ends of all links of `pages`, one page's after the other's.
void linked_values(const Lists& lists, std::span<const std::int64_t> pages, std::span<const double> values,
                   std::span<double> found);

}  // namespace pippin
