#include "pairs.hpp"

#include <stdexcept>

#include "bind.hpp"

namespace pippin {
namespace {

Graded graded(const In<std::int32_t>& levels, const In<std::int64_t>& offsets, const In<double>& weights) {
    const Graded data{view(levels), view(offsets), view(weights)};
    if (data.offsets.size() != data.weights.size() + 1 || data.offsets.front() != 0 ||
        data.offsets.back() != static_cast<std::int64_t>(data.levels.size())) {
        throw std::invalid_argument("offsets that cut the documents, and a weight per query are needed");
    }
    return data;
}

void need(bool good) {
    if (!good) throw std::invalid_argument("arrays with one item per document are needed");
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def("grade", [](In<std::int32_t> labels, In<std::int64_t> offsets, Out<std::int32_t> levels, Out<double> pairs,
                      int threads) {
        need(levels.size() == labels.size() && offsets.size() == pairs.size() + 1);
        nb::gil_scoped_release free;
        grade(view(labels), view(offsets), view(levels), view(pairs), threads);
    });
    m.def("pair_losses", [](In<std::int32_t> levels, In<std::int64_t> offsets, In<double> weights, In<double> scores,
                            bool squared, Out<double> values, Out<double> gradient, Out<std::int32_t> order, int threads) {
        const Graded data = graded(levels, offsets, weights);
        need(scores.size() == levels.size() && gradient.size() == levels.size() && order.size() == levels.size() &&
             values.size() == weights.size());
        nb::gil_scoped_release free;
        pair_losses(data, view(scores), squared, view(values), view(gradient), view(order), threads);
    });
    m.def("pair_products", [](In<std::int32_t> levels, In<std::int64_t> offsets, In<double> weights, In<double> scores,
                              In<std::int32_t> order, InTable<double> rows, OutTable<double> products, int threads) {
        const Graded data = graded(levels, offsets, weights);
        need(scores.size() == levels.size() && order.size() == levels.size() && rows.shape(0) == levels.size() &&
             products.shape(0) == levels.size() && products.shape(1) == rows.shape(1));
        const auto width = static_cast<std::int64_t>(rows.shape(1));
        nb::gil_scoped_release free;
        pair_products(data, view(scores), view(order), view(rows), width, view(products), threads);
    });
}

}  // namespace pippin
