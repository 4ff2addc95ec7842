// Shared by all bindings: array types that fix dtype, dimension and layout, so that arrays are never copied silently,
// and the list of areas that module.cpp registers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <span>
#include <utility>
#include <vector>

#include "measures/measures.hpp"
#include "ranking/rank.hpp"

namespace nb = nanobind;

namespace pippin {

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using InTable = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutTable = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Array>
auto view(const Array& array) {
    return std::span(array.data(), array.size());
}

// Ids as kernels take them: their bytes, and where each begins and how long it is.
inline Texts texts(const In<std::uint8_t>& buffer, const In<std::int64_t>& starts, const In<std::int32_t>& lengths) {
    return {view(buffer), view(starts), view(lengths)};
}

// Numbers that a kernel made, as an array that owns them; nothing is copied.
template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> column(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

// Rules as Python holds them: the arrays stay alive as long as the rules that look into them.
struct BoundRules {
    In<double> gains, multipliers, divisors, numbers;
    Rules rules;
};

// The measure of that name; refuses an unknown name.
Measure measure_of(std::string_view name);

void bind_text(nb::module_& m);
void bind_rank(nb::module_& m);
void bind_run_ranks(nb::module_& m);
void bind_nested(nb::module_& m);
void bind_measures(nb::module_& m);
void bind_correlation(nb::module_& m);
void bind_significance(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_svmmap(nb::module_& m);
void bind_lambda(nb::module_& m);
void bind_listwise(nb::module_& m);
void bind_objective(nb::module_& m);
void bind_boosting(nb::module_& m);
void bind_coordinate(nb::module_& m);
void bind_index(nb::module_& m);
void bind_markup(nb::module_& m);
void bind_links(nb::module_& m);
void bind_hits(nb::module_& m);
void bind_neighbourhood(nb::module_& m);
void bind_decimals(nb::module_& m);
void bind_checksum(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_linear(nb::module_& m);

}  // namespace pippin
