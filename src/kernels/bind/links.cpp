// Graphs come from files that may be damaged: pages and columns are checked against the array sizes in one pass.
#include "graph/links.hpp"

#include <stdexcept>

#include "bind/bind.hpp"

namespace pippin {
namespace {

using Offsets = In<std::int64_t>;
using Columns = In<std::int32_t>;

void sums(Offsets offsets, Columns columns, InTable<double> values, OutTable<double> out, int threads) {
    const Lists lists{view(offsets), view(columns)};
    const nb::gil_scoped_release release;
    lists.check(static_cast<std::int64_t>(values.shape(0)));
    if (out.shape(0) != offsets.size() - 1 || out.shape(1) != values.shape(1))
        throw std::invalid_argument("sums for every list are needed");
    link_sums(lists, view(values), static_cast<std::int64_t>(values.shape(1)), view(out), threads);
}

double all_rounds(Offsets offsets, Columns columns, In<double> weights, InTable<double> values, double own, double enough,
                  std::int64_t rounds, OutTable<double> found) {
    const Lists lists{view(offsets), view(columns)};
    const nb::gil_scoped_release release;
    lists.check(static_cast<std::int64_t>(values.shape(0)));
    if (values.shape(0) != found.shape(0) || values.shape(1) != found.shape(1))
        throw std::invalid_argument("two tables of one shape are needed");
    if (weights.size() != columns.size() || values.shape(0) != offsets.size() - 1)
        throw std::invalid_argument("a weight for every link and a row for every page are needed");
    return propagate(lists, view(weights), view(values), own, static_cast<std::int64_t>(values.shape(1)), enough, rounds,
                     view(found));
}

nb::tuple transposed(Offsets offsets, Columns columns, In<double> weights) {
    const Lists lists{view(offsets), view(columns)};
    Matrix other;
    {
        const nb::gil_scoped_release release;
        lists.check(lists.size());
        if (weights.size() != columns.size()) throw std::invalid_argument("a weight for every link is needed");
        other = transpose(lists, view(weights));
    }
    return nb::make_tuple(column(std::move(other.offsets)), column(std::move(other.columns)), column(std::move(other.weights)));
}

void weigh(InTable<double> table, In<std::int64_t> pages, In<double> weights, Out<double> sums) {
    const nb::gil_scoped_release release;
    if (weights.size() != table.shape(1) || sums.size() != pages.size())
        throw std::invalid_argument("a weight for every column and a sum for every page are needed");
    for (const std::int64_t page : view(pages))
        if (page < 0 || page >= static_cast<std::int64_t>(table.shape(0)))
            throw std::invalid_argument("a page that is not there");
    weigh_rows(view(table), view(pages), view(weights), view(sums));
}

}  // namespace

void bind_links(nb::module_& m) {
    m.def("link_sums", &sums);
    m.def("propagate", &all_rounds);
    m.def("transpose", &transposed);
    m.def("weigh_rows", &weigh);
}

}  // namespace pippin
