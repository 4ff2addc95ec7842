#include "objective.hpp"

#include <stdexcept>
#include <string>

#include "bind.hpp"

namespace pippin {

void bind_objective(nb::module_& m) {
    m.attr("HELD_DOUBLE") = kHeldDouble;
    m.attr("HELD_SINGLE") = kHeldSingle;
    nb::class_<Objective>(m, "Objective")
        .def("__init__",
             [](Objective* self, std::string_view name, In<std::int32_t> labels, In<std::int64_t> offsets, In<std::int32_t> pool,
                In<std::uint8_t> buffer, In<std::int64_t> starts, In<std::int32_t> lengths, int ties, bool float32, bool expected,
                double empty, bool skip_empty, int held, In<double> gains, In<double> multipliers, In<double> divisors,
                std::int64_t cutoff, std::int32_t relevant_at, bool ideal_from_list, bool short_is_zero, int short_precision,
                int denominator, bool undefined_at_cutoff, double top_gain, double parameter, In<double> numbers,
                int recall_cut) {
                 const Measure measure = find_measure(name);
                 if (measure == nullptr) throw std::invalid_argument("no measure named " + std::string(name));
                 const Rules rules{.gains = view(gains),
                                   .multipliers = view(multipliers),
                                   .divisors = view(divisors),
                                   .cutoff = cutoff,
                                   .relevant_at = relevant_at,
                                   .ideal_from_list = ideal_from_list,
                                   .short_is_zero = short_is_zero,
                                   .short_precision = static_cast<ShortPrecision>(short_precision),
                                   .denominator = static_cast<Denominator>(denominator),
                                   .undefined_at_cutoff = undefined_at_cutoff,
                                   .top_gain = top_gain,
                                   .parameter = parameter,
                                   .numbers = view(numbers),
                                   .recall_cut = static_cast<RecallCut>(recall_cut)};
                 const ObjectiveSettings settings{{static_cast<Ties>(ties), float32}, expected, empty, skip_empty, held};
                 new (self) Objective(measure, rules, settings, view(labels), view(offsets), view(pool),
                                      {view(buffer), view(starts), view(lengths)});
             },
             nb::arg("name"), nb::arg("labels").noconvert(), nb::arg("offsets").noconvert(), nb::arg("pool").noconvert(),
             nb::arg("buffer").noconvert(), nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(), nb::arg("ties"),
             nb::arg("float32"), nb::arg("expected"), nb::arg("empty"), nb::arg("skip_empty"), nb::arg("held"),
             nb::arg("gains").noconvert(), nb::arg("multipliers").noconvert(), nb::arg("divisors").noconvert(),
             nb::arg("cutoff"), nb::arg("relevant_at"), nb::arg("ideal_from_list"), nb::arg("short_is_zero"),
             nb::arg("short_precision"), nb::arg("denominator"), nb::arg("undefined_at_cutoff"), nb::arg("top_gain"),
             nb::arg("parameter"), nb::arg("numbers").noconvert(), nb::arg("recall_cut"));
    m.def("objective_values",
          [](const Objective& objective, In<double> scores, Out<double> values, int threads) {
              const nb::gil_scoped_release release;
              objective_values(objective, view(scores), view(values), threads);
          },
          nb::arg("objective"), nb::arg("scores").noconvert(), nb::arg("values").noconvert(), nb::arg("threads"));
    m.def("objective_varies",
          [](const Objective& objective, Out<std::uint8_t> varies, int threads) {
              const nb::gil_scoped_release release;
              objective_varies(objective, view(varies), threads);
          },
          nb::arg("objective"), nb::arg("varies").noconvert(), nb::arg("threads"));
    m.def("objective_features",
          [](const Objective& objective, InTable<double> features, OutTable<double> values, int threads) {
              const nb::gil_scoped_release release;
              objective_features(objective, view(features), static_cast<std::int64_t>(features.shape(1)), view(values), threads);
          },
          nb::arg("objective"), nb::arg("features").noconvert(), nb::arg("values").noconvert(), nb::arg("threads"));
}

}  // namespace pippin
