#include "measures/objective.hpp"

#include "bind/bind.hpp"

namespace pippin {

void bind_objective(nb::module_& m) {
    nb::class_<Objective>(m, "Objective")
        .def(
            "__init__",
            [](Objective* self, std::string_view name, const BoundRules& bound, In<std::int32_t> labels,
               In<std::int64_t> offsets, In<std::int32_t> pool, In<std::uint8_t> buffer, In<std::int64_t> starts,
               In<std::int32_t> lengths, int ties, bool float32, bool expected, const QueryValueRule& settling) {
                const ObjectiveSettings settings{rank_rule(ties, float32), expected, settling};
                new (self) Objective(measure_of(name), bound.rules, settings, view(labels), view(offsets), view(pool),
                                     {view(buffer), view(starts), view(lengths)});
            },
            nb::arg("name"), nb::arg("rules"), nb::arg("labels").noconvert(), nb::arg("offsets").noconvert(),
            nb::arg("pool").noconvert(), nb::arg("buffer").noconvert(), nb::arg("starts").noconvert(),
            nb::arg("lengths").noconvert(), nb::arg("ties"), nb::arg("float32"), nb::arg("expected"), nb::arg("settling"));
    m.def(
        "objective_values",
        [](const Objective& objective, In<double> scores, Out<double> values, int threads) {
            const nb::gil_scoped_release release;
            objective_values(objective, view(scores), view(values), threads);
        },
        nb::arg("objective"), nb::arg("scores").noconvert(), nb::arg("values").noconvert(), nb::arg("threads"));
    m.def(
        "objective_varies",
        [](const Objective& objective, Out<std::uint8_t> varies, int threads) {
            const nb::gil_scoped_release release;
            objective_varies(objective, view(varies), threads);
        },
        nb::arg("objective"), nb::arg("varies").noconvert(), nb::arg("threads"));
    m.def(
        "objective_features",
        [](const Objective& objective, InTable<double> features, OutTable<double> values, int threads) {
            const nb::gil_scoped_release release;
            objective_features(objective, view(features), static_cast<std::int64_t>(features.shape(1)), view(values), threads);
        },
        nb::arg("objective"), nb::arg("features").noconvert(), nb::arg("values").noconvert(), nb::arg("threads"));
}

}  // namespace pippin
