#include "training/pairs.hpp"

#include <algorithm>
#include <stdexcept>

#include "bind/bind.hpp"

namespace pippin {
namespace {

using Documents = In<std::int32_t>;
using Offsets = In<std::int64_t>;

void need(bool good) {
    if (!good) throw std::invalid_argument("arrays with one item per document, and sound ones, are needed");
}

void check_cut(std::span<const std::int64_t> offsets, std::size_t documents, std::size_t queries) {
    need(offsets.size() == queries + 1 && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()) &&
         offsets.back() == static_cast<std::int64_t>(documents));
}

Graded graded(const Documents& levels, const Offsets& offsets, const In<double>& weights) {
    const Graded data{view(levels), view(offsets), view(weights)};
    check_cut(data.offsets, data.levels.size(), data.weights.size());
    need(std::all_of(data.levels.begin(), data.levels.end(), [](std::int32_t level) { return level >= 0; }));
    return data;
}

// Checks that every position is within its query.
void check_order(const Graded& data, std::span<const std::int32_t> order) {
    for (std::size_t q = 0; q < data.weights.size(); ++q) {
        const std::int64_t size = data.offsets[q + 1] - data.offsets[q];
        const auto own = order.subspan(static_cast<std::size_t>(data.offsets[q]), static_cast<std::size_t>(size));
        need(std::all_of(own.begin(), own.end(), [size](std::int32_t position) { return position >= 0 && position < size; }));
    }
}

void bind_grade(Documents labels, Offsets offsets, Out<std::int32_t> levels, Out<double> pairs, int threads) {
    need(levels.size() == labels.size());
    check_cut(view(offsets), labels.size(), pairs.size());
    nb::gil_scoped_release free;
    grade(view(labels), view(offsets), view(levels), view(pairs), threads);
}

void bind_losses(Documents levels, Offsets offsets, In<double> weights, In<double> scores, bool squared, Out<double> values,
                 Out<double> gradient, Out<std::int32_t> order, int threads) {
    const Graded data = graded(levels, offsets, weights);
    const std::size_t size = levels.size();
    need(scores.size() == size && gradient.size() == size && order.size() == size && values.size() == weights.size());
    nb::gil_scoped_release free;
    pair_losses(data, view(scores), squared, view(values), view(gradient), view(order), threads);
}

void bind_products(Documents levels, Offsets offsets, In<double> weights, In<double> scores, Documents order,
                   InTable<double> rows, OutTable<double> products, int threads) {
    const Graded data = graded(levels, offsets, weights);
    const std::size_t size = levels.size();
    need(scores.size() == size && order.size() == size && rows.shape(0) == size && products.shape(0) == size &&
         products.shape(1) == rows.shape(1));
    check_order(data, view(order));
    const auto width = static_cast<std::int64_t>(rows.shape(1));
    nb::gil_scoped_release free;
    pair_products(data, view(scores), view(order), view(rows), width, view(products), threads);
}

}  // namespace

void bind_pairs(nb::module_& m) {
    const auto levels = nb::arg("levels").noconvert(), offsets = nb::arg("offsets").noconvert();
    const auto weights = nb::arg("weights").noconvert(), scores = nb::arg("scores").noconvert();
    const auto order = nb::arg("order").noconvert();
    m.def("grade", &bind_grade, nb::arg("labels").noconvert(), offsets, levels, nb::arg("pairs").noconvert(),
          nb::arg("threads"));
    m.def("pair_losses", &bind_losses, levels, offsets, weights, scores, nb::arg("squared"), nb::arg("values").noconvert(),
          nb::arg("gradient").noconvert(), order, nb::arg("threads"));
    m.def("pair_products", &bind_products, levels, offsets, weights, scores, order, nb::arg("rows").noconvert(),
          nb::arg("products").noconvert(), nb::arg("threads"));
}

}  // namespace pippin
