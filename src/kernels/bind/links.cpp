// Graphs come from files that may be damaged: no page or column leads out of an array. Checking all links takes one pass;
// the two that look at some pages of a large graph check every column as they come to it.
#include "links.hpp"

#include <stdexcept>

#include "bind.hpp"

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

double once(Offsets offsets, Columns columns, In<double> weights, InTable<double> kept, double share,
            InTable<double> h, OutTable<double> next) {
    const Lists lists{view(offsets), view(columns)};
    const nb::gil_scoped_release release;
    lists.check(static_cast<std::int64_t>(h.shape(0)));
    for (const std::size_t side : {0, 1})
        if (h.shape(side) != kept.shape(side) || h.shape(side) != next.shape(side))
            throw std::invalid_argument("three tables of one shape are needed");
    if (weights.size() != columns.size() || h.shape(0) != offsets.size() - 1)
        throw std::invalid_argument("a weight for every link and a row for every page are needed");
    return propagate_once(lists, view(weights), view(kept), share, view(h), static_cast<std::int64_t>(h.shape(1)),
                          view(next));
}

// Throws unless the pages' lists are within the columns; how many links they have.
std::size_t check_some(const Lists& lists, std::span<const std::int64_t> pages) {
    std::size_t links = 0;
    for (const std::int64_t page : pages) {
        if (page < 0 || page >= lists.size()) throw std::invalid_argument("a page that is not there");
        const std::int64_t first = lists.offsets[page], last = lists.offsets[page + 1];
        if (first < 0 || last < first || last > static_cast<std::int64_t>(lists.columns.size()))
            throw std::invalid_argument("offsets that ascend from 0 to the number of links are needed");
        links += static_cast<std::size_t>(last - first);
    }
    return links;
}

std::int64_t inside(Offsets offsets, Columns columns, In<std::int64_t> pages, In<std::int32_t> slots,
                    Out<std::int64_t> ends, Out<std::int32_t> found, Out<std::int32_t> places) {
    const Lists lists{view(offsets), view(columns)};
    const nb::gil_scoped_release release;
    const std::size_t links = check_some(lists, view(pages));
    if (ends.size() != pages.size() || found.size() <= links || places.size() != found.size())
        throw std::invalid_argument("room for every link and one more is needed");
    return links_inside(lists, view(pages), view(slots), view(ends), view(found), view(places));
}

void values_at(Offsets offsets, Columns columns, In<std::int64_t> pages, In<double> values, Out<double> found) {
    const Lists lists{view(offsets), view(columns)};
    const nb::gil_scoped_release release;
    if (check_some(lists, view(pages)) != found.size())
        throw std::invalid_argument("room for every link is needed");
    linked_values(lists, view(pages), view(values), view(found));
}

}  // namespace

void bind_links(nb::module_& m) {
    m.def("link_sums", &sums);
    m.def("propagate_once", &once);
    m.def("links_inside", &inside);
    m.def("linked_values", &values_at);
}

}  // namespace pippin
