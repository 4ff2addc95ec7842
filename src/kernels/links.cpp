#include "links.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "parallel.hpp"

namespace pippin {
namespace {

constexpr std::int64_t kBlock = 4096;  // pages a thread takes at once
constexpr std::int64_t kAhead = 16;    // links whose values are fetched in advance: they lie anywhere in memory

// Adds term(j) for the links of one page, rows of a width known to the compiler.
template <int Width>
void add_rows(const Lists& lists, std::int64_t page, const double* values, double* out) {
    double sum[Width] = {};
    const std::int64_t last = lists.offsets[page + 1];
    const std::int64_t all = static_cast<std::int64_t>(lists.columns.size());
    for (std::int64_t j = lists.offsets[page]; j < last; ++j) {
        if (j + kAhead < all) {
            const double* soon = values + std::int64_t{lists.columns[j + kAhead]} * Width;
            __builtin_prefetch(soon);
            if constexpr (Width > 8) __builtin_prefetch(soon + 8);
        }
        const double* row = values + std::int64_t{lists.columns[j]} * Width;
        for (int i = 0; i < Width; ++i) sum[i] += row[i];
    }
    std::copy(sum, sum + Width, out);
}

void add_wide_rows(const Lists& lists, std::int64_t page, const double* values, std::int64_t width, double* out) {
    std::fill(out, out + width, 0.0);
    for (std::int64_t j = lists.offsets[page]; j < lists.offsets[page + 1]; ++j) {
        const double* row = values + lists.columns[j] * width;
        for (std::int64_t i = 0; i < width; ++i) out[i] += row[i];
    }
}

}  // namespace

void Lists::check(std::int64_t pages) const {
    if (offsets.empty() || offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(columns.size()) ||
        !std::is_sorted(offsets.begin(), offsets.end()))
        throw std::invalid_argument("offsets that ascend from 0 to the number of links are needed");
    std::uint32_t most = 0;  // a negative number is a large one
    for (const std::int32_t column : columns) most = std::max(most, static_cast<std::uint32_t>(column));
    if (!columns.empty() && most >= static_cast<std::uint64_t>(pages))
        throw std::invalid_argument("a link leads to a page that is not there");
}

void link_sums(const Lists& lists, std::span<const double> values, std::int64_t width, std::span<double> sums,
               int threads) {
    parallel_blocks(lists.size(), threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t page = first; page < last; ++page) {
            double* out = sums.data() + page * width;
            if (width == 1) add_rows<1>(lists, page, values.data(), out);
            else if (width == 12) add_rows<12>(lists, page, values.data(), out);
            else add_wide_rows(lists, page, values.data(), width, out);
        }
    });
}

double propagate_once(const Lists& lists, std::span<const double> weights, std::span<const double> kept, double share,
                      std::span<const double> h, std::int64_t width, std::span<double> next) {
    double most = 0.0;
    for (std::int64_t page = 0; page < lists.size(); ++page) {
        double* out = next.data() + page * width;
        std::fill(out, out + width, 0.0);
        for (std::int64_t j = lists.offsets[page]; j < lists.offsets[page + 1]; ++j) {
            const double* row = h.data() + lists.columns[j] * width;
            for (std::int64_t i = 0; i < width; ++i) out[i] += weights[j] * row[i];
        }
        for (std::int64_t i = 0; i < width; ++i) {
            out[i] = out[i] * share + kept[page * width + i];
            most = std::max(most, std::abs(out[i] - h[page * width + i]));
        }
    }
    return most;
}

std::int64_t links_inside(const Lists& lists, std::span<const std::int64_t> pages, std::span<const std::int32_t> slots,
                          std::span<std::int64_t> ends, std::span<std::int32_t> columns, std::span<std::int32_t> places) {
    std::int64_t found = 0;
    std::int32_t place = 0;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        for (std::int64_t j = lists.offsets[pages[i]]; j < lists.offsets[pages[i] + 1]; ++j, ++place) {
            const std::int32_t slot = slots[lists.columns[j]];
            columns[found] = slot - 1;  // without a branch: where there is none, the next one takes its place
            places[found] = place;
            found += slot != 0;
        }
        ends[i] = found;
    }
    return found;
}

void linked_values(const Lists& lists, std::span<const std::int64_t> pages, std::span<const double> values,
                   std::span<double> found) {
    std::size_t place = 0;
    for (const std::int64_t page : pages)
        for (std::int64_t j = lists.offsets[page]; j < lists.offsets[page + 1]; ++j)
            found[place++] = values[lists.columns[j]];
}

}  // namespace pippin
