#include "ranking/rank.hpp"

#include <nanobind/stl/pair.h>

#include "bind/bind.hpp"

namespace pippin {

void bind_rank(nb::module_& m) {
    m.def(
        "order_lists",
        [](In<double> scores, In<std::int32_t> labels, In<std::int64_t> offsets, In<std::uint8_t> buffer,
           In<std::int64_t> starts, In<std::int32_t> lengths, int ties, bool float32, Out<std::int64_t> order, int threads) {
            const nb::gil_scoped_release release;
            order_lists(view(scores), view(labels), view(offsets), texts(buffer, starts, lengths), rank_rule(ties, float32),
                        view(order), threads);
        },
        nb::arg("scores").noconvert(), nb::arg("labels").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("buffer").noconvert(), nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(), nb::arg("ties"),
        nb::arg("float32"), nb::arg("order").noconvert(), nb::arg("threads"));
    m.def(
        "rank_lists",
        [](In<double> scores, In<std::int32_t> labels, In<std::int64_t> offsets, In<std::uint8_t> buffer,
           In<std::int64_t> starts, In<std::int32_t> lengths, int ties, bool float32, In<std::int64_t> queries,
           Out<std::int32_t> ranked, Out<std::uint8_t> tied, Out<std::uint8_t> alike, int threads) {
            const nb::gil_scoped_release release;
            rank_lists(view(scores), view(labels), view(offsets), texts(buffer, starts, lengths), rank_rule(ties, float32),
                       view(queries), view(ranked), view(tied), view(alike), threads);
        },
        nb::arg("scores").noconvert(), nb::arg("labels").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("buffer").noconvert(), nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(), nb::arg("ties"),
        nb::arg("float32"), nb::arg("queries").noconvert(), nb::arg("ranked").noconvert(), nb::arg("tied").noconvert(),
        nb::arg("alike").noconvert(), nb::arg("threads"));
    m.def(
        "judge_and_rank",
        [](In<std::uint8_t> run_buffer, In<std::int64_t> run_starts, In<std::int32_t> run_lengths, In<double> run_scores,
           In<std::int64_t> run_offsets, In<std::uint8_t> judged_buffer, In<std::int64_t> judged_starts,
           In<std::int32_t> judged_lengths, In<std::int32_t> judged_labels, In<std::int64_t> judged_offsets,
           In<std::int64_t> run_of, In<std::int64_t> judged_of, In<std::int64_t> offsets, int ties, bool float32,
           Out<std::int32_t> ranked, Out<std::uint8_t> tied, int threads) {
            Duplicate found;
            {
                const nb::gil_scoped_release release;
                found = judge_and_rank(
                    {texts(run_buffer, run_starts, run_lengths), view(run_scores), view(run_offsets)},
                    {texts(judged_buffer, judged_starts, judged_lengths), view(judged_labels), view(judged_offsets)},
                    view(run_of), view(judged_of), view(offsets), rank_rule(ties, float32), view(ranked), view(tied), threads);
            }
            return std::pair{found.first, found.second};
        },
        nb::arg("run_buffer").noconvert(), nb::arg("run_starts").noconvert(), nb::arg("run_lengths").noconvert(),
        nb::arg("run_scores").noconvert(), nb::arg("run_offsets").noconvert(), nb::arg("judged_buffer").noconvert(),
        nb::arg("judged_starts").noconvert(), nb::arg("judged_lengths").noconvert(), nb::arg("judged_labels").noconvert(),
        nb::arg("judged_offsets").noconvert(), nb::arg("run_of").noconvert(), nb::arg("judged_of").noconvert(),
        nb::arg("offsets").noconvert(), nb::arg("ties"), nb::arg("float32"), nb::arg("ranked").noconvert(),
        nb::arg("tied").noconvert(), nb::arg("threads"));
    m.def(
        "find_duplicate",
        [](In<std::uint8_t> buffer, In<std::int64_t> starts, In<std::int32_t> lengths, In<std::int64_t> offsets, int threads) {
            Duplicate found;
            {
                const nb::gil_scoped_release release;
                found = find_duplicate(texts(buffer, starts, lengths), view(offsets), threads);
            }
            return std::pair{found.first, found.second};
        },
        nb::arg("buffer").noconvert(), nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(),
        nb::arg("offsets").noconvert(), nb::arg("threads"));
    m.def(
        "sort_pools",
        [](In<std::int32_t> labels, In<std::int64_t> label_offsets, In<std::int64_t> queries, In<std::int64_t> offsets,
           Out<std::int32_t> pool, int threads) {
            const nb::gil_scoped_release release;
            sort_pools(view(labels), view(label_offsets), view(queries), view(offsets), view(pool), threads);
        },
        nb::arg("labels").noconvert(), nb::arg("label_offsets").noconvert(), nb::arg("queries").noconvert(),
        nb::arg("offsets").noconvert(), nb::arg("pool").noconvert(), nb::arg("threads"));
}

}  // namespace pippin
