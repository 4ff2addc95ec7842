// A ranking crosses the border as one int64 table of three rows: order, above, through.
#include "statistics/correlation.hpp"

#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <tuple>

#include "bind/bind.hpp"

namespace pippin {
namespace {

using Ranking = nb::ndarray<const std::int64_t, nb::shape<3, -1>, nb::c_contig, nb::device::cpu>;
using NewRanking = nb::ndarray<std::int64_t, nb::shape<3, -1>, nb::c_contig, nb::device::cpu>;
using Pairs = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

TiedRanking rows(const Ranking& table) {
    const std::span all = view(table);
    const std::size_t size = table.shape(1);
    return {all.subspan(0, size), all.subspan(size, size), all.subspan(2 * size, size)};
}

// Validates two rankings: every index is within its array.
struct Both {
    TiedRanking x;
    TiedRanking y;

    Both(const Ranking& table_x, const Ranking& table_y) : x(rows(table_x)), y(rows(table_y)) {
        check_rankings(x, y);
        if (x.size() < 2) throw std::invalid_argument("two items or more are needed");
    }
};

void rank(In<double> values, bool high, double tolerance, NewRanking ranking) {
    const std::size_t size = values.size();
    if (ranking.shape(1) != size) throw std::invalid_argument("a ranking as long as the values is needed");
    if (!(tolerance >= 0.0)) throw std::invalid_argument("a tolerance of 0 or more is needed");
    const std::span all = view(ranking);
    rank_with_ties(view(values), high, tolerance, all.subspan(0, size), all.subspan(size, size), all.subspan(2 * size, size));
}

Pairs pairs(Ranking x, Ranking y) {
    const Both both(x, y);
    const PairCounts counts = count_pairs(both.x, both.y);
    return {counts.concordant, counts.discordant, counts.tied_x, counts.tied_y, counts.tied_both};
}

double above(Ranking x, Ranking y) {
    const Both both(x, y);
    return share_above(both.x, both.y);
}

double above_in_orders(Ranking x, Ranking y, int tied_pair) {
    const Both both(x, y);
    if (tied_pair < 0 || tied_pair > 1) throw std::invalid_argument("an unknown value of tied_pair");
    return share_above_in_orders(both.x, both.y, static_cast<TiedPair>(tied_pair));
}

double overlap(Ranking x, Ranking y, double p, int ties) {
    const Both both(x, y);
    if (!(p > 0.0 && p < 1.0)) throw std::invalid_argument("a persistence between 0 and 1 is needed");
    if (ties < 0 || ties > 2) throw std::invalid_argument("an unknown value of ties");
    return rank_biased_overlap(both.x, both.y, p, static_cast<OverlapTies>(ties));
}

}  // namespace

void bind_correlation(nb::module_& m) {
    using released = nb::call_guard<nb::gil_scoped_release>;
    const auto x = nb::arg("x").noconvert();
    const auto y = nb::arg("y").noconvert();
    m.def("rank_with_ties", &rank, nb::arg("values").noconvert(), nb::arg("high"), nb::arg("tolerance"),
          nb::arg("ranking").noconvert(), released());
    m.def("count_pairs", &pairs, x, y, released());
    m.def("share_above", &above, x, y, released());
    m.def("share_above_in_orders", &above_in_orders, x, y, nb::arg("tied_pair"), released());
    m.def("rank_biased_overlap", &overlap, x, y, nb::arg("p"), nb::arg("ties"), released());
}

}  // namespace pippin
