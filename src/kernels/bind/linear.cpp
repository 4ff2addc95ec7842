#include "scoring/linear.hpp"

#include <stdexcept>

#include "bind/bind.hpp"

namespace pippin {

void bind_linear(nb::module_& m) {
    m.def(
        "linear_scores",
        [](InTable<double> table, In<std::int32_t> columns, In<double> weights, double start, bool single_features,
           bool single_sums, bool missing_is_zero, Out<double> scores) {
            if (table.shape(0) != scores.size()) throw std::invalid_argument("there are not as many scores as rows");
            const nb::gil_scoped_release release;
            linear_scores({view(columns), view(weights), start, single_features, single_sums, missing_is_zero}, view(table),
                          static_cast<std::int64_t>(table.shape(1)), view(scores));
        },
        nb::arg("table").noconvert(), nb::arg("columns").noconvert(), nb::arg("weights").noconvert(), nb::arg("start"),
        nb::arg("single_features"), nb::arg("single_sums"), nb::arg("missing_is_zero"), nb::arg("scores").noconvert());
}

}  // namespace pippin
