#include "ranking/streaming_rank.hpp"

#include <nanobind/stl/pair.h>

#include "bind/bind.hpp"

namespace pippin {

void bind_run_ranks(nb::module_& m) {
    nb::class_<RankedText>(m, "RankedText", "The queries of a stretch of a run, judged and in rank order.")
        .def_ro("irregular", &RankedText::irregular)
        .def_prop_ro("queries",
                     [](const RankedText& text) {
                         std::vector<std::int64_t> starts, lengths, documents;
                         for (const RankedQuery& query : text.queries) {
                             starts.push_back(query.start);
                             lengths.push_back(query.length);
                             documents.push_back(query.documents);
                         }
                         return nb::make_tuple(column(std::move(starts)), column(std::move(lengths)),
                                               column(std::move(documents)));
                     })
        .def_prop_ro("first_tag", [](const RankedText& text) { return std::pair{text.first_tag.start, text.first_tag.length}; })
        .def_prop_ro("last_tag", [](const RankedText& text) { return std::pair{text.last_tag.start, text.last_tag.length}; });
    m.def(
        "rank_run",
        [](In<std::uint8_t> text, In<std::uint8_t> judged_buffer, In<std::int64_t> judged_starts,
           In<std::int32_t> judged_lengths, In<std::int32_t> judged_labels, In<std::int64_t> judged_offsets,
           In<std::uint8_t> query_buffer, In<std::int64_t> query_starts, In<std::int32_t> query_lengths, int ties, bool float32,
           bool lenient, bool comments, bool infinite, int threads) {
            const JudgedView judged{
                {view(judged_buffer), view(judged_starts), view(judged_lengths)}, view(judged_labels), view(judged_offsets)};
            const Texts queries{view(query_buffer), view(query_starts), view(query_lengths)};
            const RankRule rule = rank_rule(ties, float32);
            const nb::gil_scoped_release release;
            return new RankedText(rank_run(view(text), judged, queries, rule, {lenient, threads, comments, infinite}));
        },
        nb::rv_policy::take_ownership, nb::arg("text").noconvert(), nb::arg("judged_buffer").noconvert(),
        nb::arg("judged_starts").noconvert(), nb::arg("judged_lengths").noconvert(), nb::arg("judged_labels").noconvert(),
        nb::arg("judged_offsets").noconvert(), nb::arg("query_buffer").noconvert(), nb::arg("query_starts").noconvert(),
        nb::arg("query_lengths").noconvert(), nb::arg("ties"), nb::arg("float32"), nb::arg("lenient"), nb::arg("comments"),
        nb::arg("infinite"), nb::arg("threads"));
    m.def(
        "copy_ranked",
        [](const RankedText& text, In<std::int64_t> to, Out<std::int32_t> labels, Out<std::uint8_t> tied, int threads) {
            const nb::gil_scoped_release release;
            copy_ranked(text, view(to), view(labels), view(tied), threads);
        },
        nb::arg("text"), nb::arg("to").noconvert(), nb::arg("labels").noconvert(), nb::arg("tied").noconvert(),
        nb::arg("threads"));
}

}  // namespace pippin
