#include "training/boosting.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "bind/bind.hpp"

namespace pippin {
namespace {

using Found = std::tuple<std::int64_t, std::int64_t, double, double, double>;

Levels levels_of(const In<std::int64_t>& cuts, const In<std::int64_t>& queries, const In<double>& weights) {
    return {view(cuts), view(queries), view(weights)};
}

Found found(const Stump& stump) { return {stump.column, stump.threshold, stump.gain, stump.plus, stump.minus}; }

}  // namespace

void bind_boosting(nb::module_& m) {
    m.def(
        "boost_potential",
        [](In<std::int64_t> cuts, In<std::int64_t> queries, In<double> weights, In<double> scores, Out<double> potential,
           Out<double> up, Out<double> down, int threads) {
            Mass mass;
            {
                const nb::gil_scoped_release release;
                mass = boost_potential(levels_of(cuts, queries, weights), view(scores), view(potential), view(up), view(down),
                                       threads);
            }
            return std::pair{mass.total, mass.shift};
        },
        nb::arg("cuts").noconvert(), nb::arg("queries").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("scores").noconvert(), nb::arg("potential").noconvert(), nb::arg("up").noconvert(), nb::arg("down").noconvert(),
        nb::arg("threads"));
    m.def(
        "search_potential",
        [](InTable<std::uint8_t> codes, In<std::int32_t> counts, In<double> potential, bool positive_only, int threads) {
            Stump stump;
            {
                const nb::gil_scoped_release release;
                stump = search_potential({view(codes), view(counts)}, view(potential), positive_only, threads);
            }
            return found(stump);
        },
        nb::arg("codes").noconvert(), nb::arg("counts").noconvert(), nb::arg("potential").noconvert(), nb::arg("positive_only"),
        nb::arg("threads"));
    m.def(
        "order_codes",
        [](In<std::int64_t> cuts, In<std::int64_t> queries, In<double> weights, InTable<std::uint8_t> codes,
           In<std::int32_t> counts, OutTable<std::int32_t> order, int threads) {
            const nb::gil_scoped_release release;
            order_codes(levels_of(cuts, queries, weights), {view(codes), view(counts)}, view(order), threads);
        },
        nb::arg("cuts").noconvert(), nb::arg("queries").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("codes").noconvert(), nb::arg("counts").noconvert(), nb::arg("order").noconvert(), nb::arg("threads"));
    m.def(
        "search_exact",
        [](In<std::int64_t> cuts, In<std::int64_t> queries, In<double> weights, InTable<std::uint8_t> codes,
           In<std::int32_t> counts, InTable<std::int32_t> order, In<double> up, In<double> down, double total,
           bool positive_only, int threads) {
            Stump stump;
            {
                const nb::gil_scoped_release release;
                stump = search_exact(levels_of(cuts, queries, weights), {view(codes), view(counts)}, view(order), view(up),
                                     view(down), total, positive_only, threads);
            }
            return found(stump);
        },
        nb::arg("cuts").noconvert(), nb::arg("queries").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("codes").noconvert(), nb::arg("counts").noconvert(), nb::arg("order").noconvert(), nb::arg("up").noconvert(),
        nb::arg("down").noconvert(), nb::arg("total"), nb::arg("positive_only"), nb::arg("threads"));
    m.def(
        "fidelity",
        [](In<std::int64_t> cuts, In<std::int64_t> queries, In<double> weights, In<double> scores, Out<double> potential,
           int threads) {
            const nb::gil_scoped_release release;
            return fidelity(levels_of(cuts, queries, weights), view(scores), view(potential), threads);
        },
        nb::arg("cuts").noconvert(), nb::arg("queries").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("scores").noconvert(), nb::arg("potential").noconvert(), nb::arg("threads"));
    m.def(
        "fidelity_split",
        [](In<std::int64_t> cuts, In<std::int64_t> queries, In<double> weights, In<double> scores, In<std::uint8_t> h,
           double step, int threads) {
            Split split;
            {
                const nb::gil_scoped_release release;
                split = fidelity_split(levels_of(cuts, queries, weights), view(scores), view(h), step, threads);
            }
            return std::tuple{split.plus, split.minus, split.curvature};
        },
        nb::arg("cuts").noconvert(), nb::arg("queries").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("scores").noconvert(), nb::arg("h").noconvert(), nb::arg("step"), nb::arg("threads"));
    m.def(
        "fidelity_search",
        [](In<std::int64_t> cuts, In<std::int64_t> queries, In<double> weights, InTable<std::uint8_t> codes,
           In<std::int32_t> counts, In<double> scores, Out<std::int64_t> thresholds, Out<double> gains, int threads) {
            const nb::gil_scoped_release release;
            std::vector<Stump> stumps(counts.size());
            fidelity_search(levels_of(cuts, queries, weights), {view(codes), view(counts)}, view(scores), stumps, threads);
            for (std::size_t c = 0; c < stumps.size(); ++c) {
                thresholds.data()[c] = stumps[c].threshold;
                gains.data()[c] = stumps[c].gain;
            }
        },
        nb::arg("cuts").noconvert(), nb::arg("queries").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("codes").noconvert(), nb::arg("counts").noconvert(), nb::arg("scores").noconvert(),
        nb::arg("thresholds").noconvert(), nb::arg("gains").noconvert(), nb::arg("threads"));
    m.def(
        "weighted_sums",
        [](InTable<double> table, In<double> weights, Out<double> sums, int threads) {
            const nb::gil_scoped_release release;
            weighted_sums(view(table), view(weights), view(sums), threads);
        },
        nb::arg("table").noconvert(), nb::arg("weights").noconvert(), nb::arg("sums").noconvert(), nb::arg("threads"));
}

}  // namespace pippin
