#include "training/coordinate.hpp"

#include "bind/bind.hpp"
#include "parallel.hpp"

namespace pippin {
namespace {

// Row r of a table.
template <typename T>
std::span<T> row(std::span<T> table, std::int64_t width, std::int64_t r) {
    return table.subspan(static_cast<std::size_t>(r * width), static_cast<std::size_t>(width));
}

}  // namespace

void bind_coordinate(nb::module_& m) {
    m.def(
        "rescore",
        [](const Objective& objective, In<std::int64_t> active, InTable<double> columns, InTable<double> weights,
           OutTable<double> scores, Out<double> totals, int threads) {
            const nb::gil_scoped_release release;
            const Slope slope{objective, view(columns), view(active)};
            for (std::int64_t r = 0; r < static_cast<std::int64_t>(totals.size()); ++r)
                totals.data()[r] =
                    rescore(slope, row(view(weights), slope.features(), r), row(view(scores), slope.rows(), r), threads);
        },
        nb::arg("objective"), nb::arg("active").noconvert(), nb::arg("columns").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("scores").noconvert(), nb::arg("totals").noconvert(), nb::arg("threads"));
    m.def(
        "ascend",
        [](const Objective& objective, In<std::int64_t> active, InTable<double> columns, InTable<std::int32_t> features,
           OutTable<double> weights, OutTable<double> scores, Out<double> totals, std::int64_t steps, bool exact, bool nonneg,
           int threads) {
            const nb::gil_scoped_release release;
            const Slope slope{objective, view(columns), view(active)};
            const AscentSettings settings{steps, exact, nonneg};
            const auto starts = static_cast<std::int64_t>(totals.size()), width = static_cast<std::int64_t>(features.shape(1));
            // Starts are independent; threads that are left over share the queries of one start.
            const int inside =
                starts > 0 ? std::max<int>(1, threads / static_cast<int>(std::min<std::int64_t>(starts, threads))) : 1;
            parallel_blocks(starts, threads, 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t r = begin; r < end; ++r)
                    totals.data()[r] =
                        ascend(slope, settings, row(view(features), width, r), row(view(weights), slope.features(), r),
                               row(view(scores), slope.rows(), r), inside);
            });
        },
        nb::arg("objective"), nb::arg("active").noconvert(), nb::arg("columns").noconvert(), nb::arg("features").noconvert(),
        nb::arg("weights").noconvert(), nb::arg("scores").noconvert(), nb::arg("totals").noconvert(), nb::arg("steps"),
        nb::arg("exact"), nb::arg("nonneg"), nb::arg("threads"));
}

}  // namespace pippin
