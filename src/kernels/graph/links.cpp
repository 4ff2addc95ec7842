#include "graph/links.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "parallel.hpp"

namespace pippin {
namespace {

constexpr std::int64_t kBlock = 4096;  // pages per block of work of a thread
constexpr std::size_t kRowsAhead = 16;  // the same for rows in random order
constexpr std::int64_t kAhead = 16;    // links whose values are fetched in advance: they lie anywhere in memory

// Calls body with the width as a constant where it is a usual one, else with 0: loops that the compiler can unroll.
template <typename Body>
void for_width(std::int64_t width, Body&& body) {
    switch (width) {
        case 2: return body(std::integral_constant<std::int64_t, 2>{});
        case 3: return body(std::integral_constant<std::int64_t, 3>{});
        case 4: return body(std::integral_constant<std::int64_t, 4>{});
        case 5: return body(std::integral_constant<std::int64_t, 5>{});
        case 6: return body(std::integral_constant<std::int64_t, 6>{});
        default: return body(std::integral_constant<std::int64_t, 0>{});
    }
}

// The sum over the links of one page, rows of a width known to the compiler.
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

// One round for some pages; the greatest |next − h|.
template <std::int64_t Known>
double propagate_once(const Lists& lists, std::span<const std::int64_t> pages, std::span<const double> weights,
                      std::span<const double> values, double own, const double* h, std::int64_t width, double* next) {
    const std::int64_t size = Known ? Known : width;
    std::vector<double> buffer(Known ? 0 : 2 * size);
    double few[Known ? 2 * Known : 1] = {};
    double* sum = Known ? few : buffer.data();
    double* most = sum + size;  // one per column: a single one would wait for itself at every value
    for (const std::int64_t page : pages) {
        std::fill(sum, sum + size, 0.0);
        for (std::int64_t j = lists.offsets[page]; j < lists.offsets[page + 1]; ++j) {
            const double* row = h + lists.columns[j] * size;
            for (std::int64_t i = 0; i < size; ++i) sum[i] += weights[j] * row[i];
        }
        for (std::int64_t i = 0; i < size; ++i) {
            const double value = (1.0 - own) * sum[i] + own * values[page * size + i];
            most[i] = std::max(most[i], std::abs(value - h[page * size + i]));
            next[page * size + i] = value;
        }
    }
    return *std::max_element(most, most + size);
}

}  // namespace

void check_columns(std::span<const std::int32_t> columns, std::int64_t pages) {
    std::uint32_t most = 0;  // a negative number is a large one
    for (const std::int32_t column : columns) most = std::max(most, static_cast<std::uint32_t>(column));
    if (!columns.empty() && most >= static_cast<std::uint64_t>(pages))
        throw std::invalid_argument("a link leads to a page that is not there");
}

void Lists::check(std::int64_t pages) const {
    if (offsets.empty() || offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(columns.size()) ||
        !std::is_sorted(offsets.begin(), offsets.end()))
        throw std::invalid_argument("offsets that ascend from 0 to the number of links are needed");
    check_columns(columns, pages);
}

void link_sums(const Lists& lists, std::span<const double> values, std::int64_t width, std::span<double> sums, int threads) {
    parallel_blocks(lists.size(), threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t page = first; page < last; ++page) {
            double* out = sums.data() + page * width;
            if (width == 1) add_rows<1>(lists, page, values.data(), out);
            else if (width == 12) add_rows<12>(lists, page, values.data(), out);
            else add_wide_rows(lists, page, values.data(), width, out);
        }
    });
}

double propagate(const Lists& lists, std::span<const double> weights, std::span<const double> values, double own,
                 std::int64_t width, double enough, std::int64_t rounds, std::span<double> found) {
    std::vector<double> spare(values.size());
    std::vector<std::int64_t> pages(lists.size());
    std::iota(pages.begin(), pages.end(), 0);
    const double* h = values.data();
    double *next = found.data(), *other = spare.data();
    double most = std::numeric_limits<double>::infinity();
    for (std::int64_t done = 0; done < rounds && most > enough; ++done) {
        for_width(width, [&](auto known) { most = propagate_once<known>(lists, pages, weights, values, own, h, width, next); });
        h = next;
        std::swap(next, other);
        if (done) continue;
        std::ranges::copy(found, spare.begin());  // pages without links do not change after the first round
        std::erase_if(pages, [&](std::int64_t page) { return lists.of(page).empty(); });
    }
    if (h != found.data()) std::copy(h, h + found.size(), found.data());
    return most;
}

Matrix transpose(const Lists& lists, std::span<const double> weights) {
    Matrix other{std::vector<std::int64_t>(lists.offsets.size()), std::vector<std::int32_t>(weights.size()),
                 std::vector<double>(weights.size())};
    for (const std::int32_t column : lists.columns) ++other.offsets[column + 1];
    std::partial_sum(other.offsets.begin(), other.offsets.end(), other.offsets.begin());
    std::vector<std::int64_t> places(other.offsets.begin(), other.offsets.end() - 1);  // of each row's next entry
    for (std::int64_t row = 0; row < lists.size(); ++row)
        for (std::int64_t j = lists.offsets[row]; j < lists.offsets[row + 1]; ++j) {
            const std::int64_t place = places[lists.columns[j]]++;
            other.columns[place] = static_cast<std::int32_t>(row);
            other.weights[place] = weights[j];
        }
    return other;
}

void weigh_rows(std::span<const double> table, std::span<const std::int64_t> pages, std::span<const double> weights,
                std::span<double> sums) {
    const std::size_t width = weights.size();
    for (std::size_t i = 0; i < pages.size(); ++i) {
        if (i + kRowsAhead < pages.size()) {
            const double* soon = table.data() + pages[i + kRowsAhead] * width;
            for (std::size_t k = 0; k < width; k += 8) __builtin_prefetch(soon + k);
        }
        const double* row = table.data() + pages[i] * width;
        double sum = 0.0;
        for (std::size_t k = 0; k < width; ++k) sum += row[k] * weights[k];
        sums[i] = sum;
    }
}

}  // namespace pippin
