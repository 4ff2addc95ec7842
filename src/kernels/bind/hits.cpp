#include "graph/hits_algorithm.hpp"

#include <stdexcept>

#include "bind/bind.hpp"

namespace pippin {
namespace {

void check_pages(const HubLinks& links, std::initializer_list<std::size_t> sizes) {
    for (const std::size_t size : sizes)
        if (size != links.pages()) throw std::invalid_argument("a value for every page is needed");
}

nb::tuple as_pair(const End& end) { return nb::make_tuple(end.rounds, end.residual); }

}  // namespace

void bind_hits(nb::module_& m) {
    nb::class_<HubLinks>(m, "HubLinks", "The links of a graph, arranged for HITS.")
        .def(
            "__init__",
            [](HubLinks* self, In<std::int64_t> offsets, In<std::int32_t> columns) {
                const Lists lists{view(offsets), view(columns)};
                const nb::gil_scoped_release release;
                lists.check(lists.size());
                new (self) HubLinks(lists);
            },
            nb::arg("offsets").noconvert(), nb::arg("columns").noconvert())
        .def(
            "hits",
            [](const HubLinks& links, Out<double> authority, Out<double> hub, double tolerance, std::int64_t rounds) {
                check_pages(links, {authority.size(), hub.size()});
                End end;
                {
                    const nb::gil_scoped_release release;
                    end = links.hits(view(authority), view(hub), tolerance, rounds);
                }
                return as_pair(end);
            },
            nb::arg("authority").noconvert(), nb::arg("hub").noconvert(), nb::arg("tolerance"), nb::arg("rounds"))
        .def(
            "topical",
            [](const HubLinks& links, In<double> plain, double alpha, Out<double> authority, Out<double> hub, double tolerance,
               std::int64_t rounds) {
                check_pages(links, {plain.size(), authority.size(), hub.size()});
                End end;
                {
                    const nb::gil_scoped_release release;
                    end = links.topical(view(plain), alpha, view(authority), view(hub), tolerance, rounds);
                }
                return as_pair(end);
            },
            nb::arg("plain").noconvert(), nb::arg("alpha"), nb::arg("authority").noconvert(), nb::arg("hub").noconvert(),
            nb::arg("tolerance"), nb::arg("rounds"));
}

}  // namespace pippin
