// Graphs come from files that may be damaged: pages are checked against the array sizes; columns during the traversal.
#include "graph/subgraph.hpp"

#include <stdexcept>

#include "bind/bind.hpp"

namespace pippin {
namespace {

template <typename Run>
auto unlocked(Run&& run) {
    const nb::gil_scoped_release release;
    return run();
}

void check_lists(const Lists& lists, std::span<const std::int64_t> pages) {
    for (const std::int64_t page : pages) {
        if (page < 0 || page >= lists.size()) throw std::invalid_argument("a page that is not there");
        const std::int64_t first = lists.offsets[page], last = lists.offsets[page + 1];
        if (first < 0 || last < first || last > static_cast<std::int64_t>(lists.columns.size()))
            throw std::invalid_argument("offsets that ascend from 0 to the number of links are needed");
    }
}

nb::tuple inner(In<std::int64_t> offsets, In<std::int32_t> columns, const PageSet& inside, In<std::int64_t> pages,
                const PageSet& scored, In<double> scores, int threads) {
    const Lists lists{view(offsets), view(columns)};
    if (inside.pages() != lists.size() || scored.pages() != lists.size())
        throw std::invalid_argument("sets of the graph's pages are needed");
    if (inside.size() != pages.size() || scored.size() != scores.size())
        throw std::invalid_argument("all members, and a score for every page with one, are needed");
    InnerLinks found = unlocked([&] {
        check_lists(lists, view(pages));
        return inner_links(lists, inside, view(pages), scored, view(scores), threads);
    });
    return nb::make_tuple(column(std::move(found.offsets)), column(std::move(found.columns)),
                          column(std::move(found.weighted_offsets)), column(std::move(found.weighted_columns)),
                          column(std::move(found.weights)));
}

}  // namespace

void bind_neighbourhood(nb::module_& m) {
    nb::class_<PageSet>(m, "PageSet", "Some pages of a graph.")
        .def(nb::init<std::int64_t>(), nb::arg("pages"))
        .def(
            "add", [](PageSet& set, In<std::int64_t> pages) { return column(unlocked([&] { return set.add(view(pages)); })); },
            nb::arg("pages").noconvert())
        .def("number", [](PageSet& set) { return column(unlocked([&] { return set.number(); })); })
        .def(
            "slots",
            [](const PageSet& set, In<std::int64_t> pages, Out<std::int64_t> found) {
                if (found.size() != pages.size()) throw std::invalid_argument("the output must have one element per page");
                set.size();
                unlocked([&] { set.slots(view(pages), view(found)); });
            },
            nb::arg("pages").noconvert(), nb::arg("found").noconvert());
    m.def("inner_links", &inner);
}

}  // namespace pippin
