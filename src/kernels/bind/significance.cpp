#include "statistics/resampling.hpp"

#include "bind/bind.hpp"

namespace pippin {
namespace {

using namespace nb::literals;

ScoreTable table_of(const InTable<double>& values) {
    return {view(values), static_cast<std::int64_t>(values.shape(0)), static_cast<std::int64_t>(values.shape(1))};
}

}  // namespace

void bind_significance(nb::module_& m) {
    m.def(
        "count_sign_flips",
        [](InTable<double> values, In<std::int32_t> first, In<std::int32_t> second, In<double> thresholds, bool two_sided,
           bool exact, std::int64_t begin, std::int64_t end, std::uint64_t seed, int threads, Out<std::int64_t> counts) {
            const nb::gil_scoped_release release;
            count_sign_flips(table_of(values), {view(first), view(second), view(thresholds), two_sided}, exact,
                             {begin, end, seed, threads}, view(counts));
        },
        "values"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(), "thresholds"_a.noconvert(), "two_sided"_a,
        "exact"_a, "begin"_a, "end"_a, "seed"_a, "threads"_a, "counts"_a.noconvert());
    m.def(
        "bootstrap_means",
        [](InTable<double> values, std::int64_t begin, std::int64_t end, std::uint64_t seed, int threads,
           OutTable<double> means) {
            const nb::gil_scoped_release release;
            bootstrap_means(table_of(values), {begin, end, seed, threads}, view(means));
        },
        "values"_a.noconvert(), "begin"_a, "end"_a, "seed"_a, "threads"_a, "means"_a.noconvert());
    m.def(
        "permuted_ranges",
        [](InTable<double> values, std::int64_t begin, std::int64_t end, std::uint64_t seed, int threads, Out<double> ranges) {
            const nb::gil_scoped_release release;
            permuted_ranges(table_of(values), {begin, end, seed, threads}, view(ranges));
        },
        "values"_a.noconvert(), "begin"_a, "end"_a, "seed"_a, "threads"_a, "ranges"_a.noconvert());
}

}  // namespace pippin
