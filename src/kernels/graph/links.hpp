// Sums along links: a graph is a list of neighbours per page (offsets and columns). Sums run in the order of the lists,
// one term after the other, whatever the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pippin {

// Throws unless every column is below `pages`.
void check_columns(std::span<const std::int32_t> columns, std::int64_t pages);

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
void link_sums(const Lists& lists, std::span<const double> values, std::int64_t width, std::span<double> sums, int threads);

// Rounds of h(p) = own · S(p) + (1 − own) · Σ weight(p, q)·h(q), rows of `width` numbers, from h = S until no value changes
// by more than `enough`; the greatest change of the last round (infinite where there is none).
double propagate(const Lists& lists, std::span<const double> weights, std::span<const double> values, double own,
                 std::int64_t width, double enough, std::int64_t rounds, std::span<double> found);

// A matrix: the weight of each link.
struct Matrix {
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> columns;
    std::vector<double> weights;
};

// Rows as columns, columns as rows; a square matrix, whose entries keep their order.
Matrix transpose(const Lists& lists, std::span<const double> weights);

// sums(i) = Σ weight(k)·table(pages(i), k), rows as long as `weights`.
void weigh_rows(std::span<const double> table, std::span<const std::int64_t> pages, std::span<const double> weights,
                std::span<double> sums);

}  // namespace pippin
