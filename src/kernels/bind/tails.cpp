#include "tails.hpp"

#include <stdexcept>

#include "bind.hpp"

namespace pippin {
namespace {

// Sets out[i] to function(columns[0][i], columns[1][i], …).
template <typename Function, typename... Columns>
void each(Function function, const Out<double>& out, const Columns&... columns) {
    if (((columns.size() != out.size()) || ...)) throw std::invalid_argument("all columns have one length");
    const nb::gil_scoped_release release;
    for (std::size_t i = 0; i < out.size(); ++i) out.data()[i] = function(columns.data()[i]...);
}

}  // namespace

void bind_tails(nb::module_& m) {
    using Column = In<double>;
    m.def("incomplete_beta",
          [](Column a, Column b, Column x, Column y, Out<double> out) { each(incomplete_beta, out, a, b, x, y); });
    m.def("t_tail", [](Column t, Column df, Out<double> out) { each(t_tail, out, t, df); });
    m.def("t_point", [](Column p, Column df, Out<double> out) { each(t_point, out, p, df); });
    m.def("noncentral_t_tail",
          [](Column t, Column df, Column shift, Out<double> out) { each(noncentral_t_tail, out, t, df, shift); });
    m.def("range_tail", [](Column q, Column k, Column df, Out<double> out) { each(range_tail, out, q, k, df); });
    m.def("range_point", [](Column p, Column k, Column df, Out<double> out) { each(range_point, out, p, k, df); });
}

}  // namespace pippin
