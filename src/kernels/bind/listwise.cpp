#include "training/listwise.hpp"

#include "bind/bind.hpp"

namespace pippin {
namespace {

using Doubles = In<double>;
using Offsets = In<std::int64_t>;

ScoredLists lists_of(const Doubles& scores, const Offsets& offsets, const Out<double>& losses, const Out<double>& gradient,
                     int threads) {
    return {view(scores), view(offsets), view(losses), view(gradient), threads};
}

}  // namespace

void bind_listwise(nb::module_& m) {
    m.def(
        "cross_entropy",
        [](Doubles scores, Offsets offsets, Doubles targets, Out<double> losses, Out<double> gradient, int threads) {
            const nb::gil_scoped_release release;
            cross_entropy(lists_of(scores, offsets, losses, gradient, threads), view(targets));
        },
        nb::arg("scores").noconvert(), nb::arg("offsets").noconvert(), nb::arg("targets").noconvert(),
        nb::arg("losses").noconvert(), nb::arg("gradient").noconvert(), nb::arg("threads"));
    m.def(
        "list_likelihood",
        [](Doubles scores, Offsets offsets, In<std::int64_t> order, std::int64_t depth, Out<double> losses,
           Out<double> gradient, int threads) {
            const nb::gil_scoped_release release;
            list_likelihood(lists_of(scores, offsets, losses, gradient, threads), view(order), depth);
        },
        nb::arg("scores").noconvert(), nb::arg("offsets").noconvert(), nb::arg("order").noconvert(), nb::arg("depth"),
        nb::arg("losses").noconvert(), nb::arg("gradient").noconvert(), nb::arg("threads"));
    m.def(
        "approx_ndcg",
        [](Doubles scores, Offsets offsets, Doubles gains, Doubles scales, double alpha, int discount, Out<double> losses,
           Out<double> gradient, int threads) {
            const nb::gil_scoped_release release;
            approx_ndcg(lists_of(scores, offsets, losses, gradient, threads), view(gains), view(scales), alpha,
                        static_cast<Discount>(discount));
        },
        nb::arg("scores").noconvert(), nb::arg("offsets").noconvert(), nb::arg("gains").noconvert(),
        nb::arg("scales").noconvert(), nb::arg("alpha"), nb::arg("discount"), nb::arg("losses").noconvert(),
        nb::arg("gradient").noconvert(), nb::arg("threads"));
    m.def(
        "tied_pairs",
        [](Doubles scores, Offsets offsets, In<std::int32_t> labels, double sigma, Out<double> losses, Out<double> gradient,
           int threads) {
            const nb::gil_scoped_release release;
            tied_pairs(lists_of(scores, offsets, losses, gradient, threads), view(labels), sigma);
        },
        nb::arg("scores").noconvert(), nb::arg("offsets").noconvert(), nb::arg("labels").noconvert(), nb::arg("sigma"),
        nb::arg("losses").noconvert(), nb::arg("gradient").noconvert(), nb::arg("threads"));
}

}  // namespace pippin
