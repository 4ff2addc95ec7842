#include "measures/measures.hpp"

#include <stdexcept>
#include <string>

#include "bind/bind.hpp"
#include "measures/query_value.hpp"

namespace pippin {

Measure measure_of(std::string_view name) {
    const Measure measure = find_measure(name);
    if (measure == nullptr) throw std::invalid_argument("no measure named " + std::string(name));
    return measure;
}

namespace {

void bind_rules(nb::module_& m) {
    nb::class_<BoundRules>(m, "Rules")
        .def(
            "__init__",
            [](BoundRules* self, In<double> gains, In<double> multipliers, In<double> divisors, std::int64_t cutoff,
               std::int32_t relevant_at, bool ideal_from_list, bool short_is_zero, int short_precision, int denominator,
               bool undefined_at_cutoff, double top_gain, double parameter, In<double> numbers, int recall_cut, int ideal_cut,
               int recall_denominator, bool negative_gains) {
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
                                  .recall_cut = static_cast<RecallCut>(recall_cut),
                                  .ideal_cut = static_cast<IdealCut>(ideal_cut),
                                  .recall_denominator = static_cast<RecallDenominator>(recall_denominator),
                                  .negative_gains = negative_gains};
                new (self) BoundRules{gains, multipliers, divisors, numbers, rules};
            },
            nb::arg("gains").noconvert(), nb::arg("multipliers").noconvert(), nb::arg("divisors").noconvert(),
            nb::arg("cutoff"), nb::arg("relevant_at"), nb::arg("ideal_from_list"), nb::arg("short_is_zero"),
            nb::arg("short_precision"), nb::arg("denominator"), nb::arg("undefined_at_cutoff"), nb::arg("top_gain"),
            nb::arg("parameter"), nb::arg("numbers").noconvert(), nb::arg("recall_cut"), nb::arg("ideal_cut"),
            nb::arg("recall_denominator"), nb::arg("negative_gains"));
}

void bind_settling(nb::module_& m) {
    m.attr("HELD_DOUBLE") = kHeldDouble;
    m.attr("HELD_SINGLE") = kHeldSingle;
    m.attr("HELD_HALF_UP") = kHeldHalfUp;
    nb::class_<QueryValueRule>(m, "Settling")
        .def(
            "__init__",
            [](QueryValueRule* self, double empty, bool skip_empty, int held) {
                new (self) QueryValueRule{empty, skip_empty, held};
            },
            nb::arg("empty"), nb::arg("skip_empty"), nb::arg("held"));
    m.def(
        "settle_values",
        [](Out<double> values, In<std::int32_t> pool, In<std::int64_t> pool_offsets, std::int32_t relevant_at,
           const QueryValueRule& settling) {
            const nb::gil_scoped_release release;
            settle_values(view(values), view(pool), view(pool_offsets), relevant_at, settling);
        },
        nb::arg("values").noconvert(), nb::arg("pool").noconvert(), nb::arg("pool_offsets").noconvert(), nb::arg("relevant_at"),
        nb::arg("settling"));
}

}  // namespace

void bind_measures(nb::module_& m) {
    m.attr("UNJUDGED") = kUnjudged;
    bind_rules(m);
    bind_settling(m);
    m.def("has_measure", [](std::string_view name) { return find_measure(name) != nullptr; }, nb::arg("name"));
    m.def(
        "measure_lists",
        [](std::string_view name, In<std::int32_t> labels, In<std::uint8_t> tied, In<std::int64_t> offsets,
           In<std::int32_t> pool, In<std::int64_t> pool_offsets, const BoundRules& bound, Out<double> values, int threads) {
            const Measure measure = measure_of(name);
            const nb::gil_scoped_release release;
            measure_lists(measure, bound.rules, view(labels), view(tied), view(offsets), view(pool), view(pool_offsets),
                          view(values), threads);
        },
        nb::arg("name"), nb::arg("labels").noconvert(), nb::arg("tied").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("pool").noconvert(), nb::arg("pool_offsets").noconvert(), nb::arg("rules"), nb::arg("values").noconvert(),
        nb::arg("threads"));
}

}  // namespace pippin
