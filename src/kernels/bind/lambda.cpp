#include "training/lambdas.hpp"

#include <stdexcept>
#include <string>

#include "bind/bind.hpp"

namespace pippin {
namespace {

Target target_of(std::string_view name) {
    const auto target = find_target(name);
    if (!target) throw std::invalid_argument("nothing to follow named " + std::string(name));
    return *target;
}

void check(bool good, const char* message) {
    if (!good) throw std::invalid_argument(message);
}

// Labels that index the gain table, and offsets that stay within the rows.
void check_lists(std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets, std::span<const double> gains) {
    check(!offsets.empty() && offsets.front() == 0 && offsets.back() == static_cast<std::int64_t>(labels.size()),
          "offsets do not cut the labels into queries");
    for (std::size_t q = 1; q < offsets.size(); ++q) check(offsets[q - 1] <= offsets[q], "offsets fall");
    const auto largest = static_cast<std::int64_t>(gains.size());
    for (const std::int32_t label : labels) check(label < largest, "a label is beyond the table of gains");
}

std::int64_t longest(std::span<const std::int64_t> offsets) {
    std::int64_t length = 0;
    for (std::size_t q = 1; q < offsets.size(); ++q) length = std::max(length, offsets[q] - offsets[q - 1]);
    return length;
}

std::vector<double> checked_weights(Target target, const Rules& rules, std::int64_t depth, bool keep_beyond) {
    const bool discounts = target == Target::ndcg || target == Target::dcg;
    check(!discounts || static_cast<std::int64_t>(std::min(rules.multipliers.size(), rules.divisors.size())) >= depth,
          "the table of discounts is shorter than a list");
    return rank_weights(target, rules, depth, keep_beyond);
}

}  // namespace

void bind_lambda(nb::module_& m) {
    m.def("has_target", [](std::string_view name) { return find_target(name).has_value(); }, nb::arg("name"));
    m.def(
        "swap_scales",
        [](std::string_view name, In<std::int32_t> labels, In<std::int64_t> offsets, const BoundRules& bound,
           Out<double> scales) {
            const Target target = target_of(name);
            const Rules& rules = bound.rules;
            check_lists(view(labels), view(offsets), rules.gains);
            checked_weights(target, rules, longest(view(offsets)), false);
            check(scales.size() + 1 == offsets.size(), "one scale per query is needed");
            const nb::gil_scoped_release release;
            Scratch scratch;
            for (std::size_t q = 0; q < scales.size(); ++q) {
                const auto begin = static_cast<std::size_t>(offsets(q)), end = static_cast<std::size_t>(offsets(q + 1));
                const auto list = view(labels).subspan(begin, end - begin);
                scales(q) = swap_scale(target, {list, {}, list}, rules, scratch);
            }
        },
        nb::arg("name"), nb::arg("labels").noconvert(), nb::arg("offsets").noconvert(), nb::arg("rules"),
        nb::arg("scales").noconvert());
    m.def(
        "swap_changes",
        [](std::string_view name, In<std::int32_t> labels, const BoundRules& bound, bool keep_beyond,
           OutTable<double> changes) {
            const Target target = target_of(name);
            const Rules& rules = bound.rules;
            const auto size = static_cast<std::int64_t>(labels.size());
            const std::int64_t offsets[] = {0, size};
            check_lists(view(labels), offsets, rules.gains);
            check(changes.shape(0) == labels.size() && changes.shape(1) == labels.size(),
                  "the table is not of the list's size");
            const auto weights = checked_weights(target, rules, size, keep_beyond);
            const nb::gil_scoped_release release;
            SwapScratch scratch;
            for (std::int64_t a = 0; a < size; ++a)
                swap_changes(target, {view(labels), {}, view(labels)}, rules, weights, a, scratch,
                             std::span(changes.data() + a * size, labels.size()));
        },
        nb::arg("name"), nb::arg("labels").noconvert(), nb::arg("rules"), nb::arg("keep_beyond"),
        nb::arg("changes").noconvert());
    m.def(
        "lambdas",
        [](std::string_view name, In<double> scores, In<std::int32_t> labels, In<std::int64_t> offsets, In<std::int64_t> order,
           In<double> scales, const BoundRules& bound, bool keep_beyond, double sigma, bool normalise, bool damp,
           Out<double> gradient, Out<double> hessian, int threads) {
            const Target target = target_of(name);
            const Rules& rules = bound.rules;
            check_lists(view(labels), view(offsets), rules.gains);
            const std::size_t rows = labels.size();
            check(scores.size() == rows && order.size() == rows && gradient.size() == rows && hessian.size() == rows,
                  "scores, order and results need one value per label");
            check(scales.size() + 1 == offsets.size(), "one scale per query is needed");
            for (const std::int64_t row : view(order))
                check(row >= 0 && row < static_cast<std::int64_t>(rows), "the order names a row that is not there");
            const auto weights = checked_weights(target, rules, longest(view(offsets)), keep_beyond);
            const nb::gil_scoped_release release;
            lambdas(target, rules, weights, view(scores), view(labels), view(offsets), view(order), view(scales), sigma,
                    normalise, damp, view(gradient), view(hessian), threads);
        },
        nb::arg("name"), nb::arg("scores").noconvert(), nb::arg("labels").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("order").noconvert(), nb::arg("scales").noconvert(), nb::arg("rules"), nb::arg("keep_beyond"), nb::arg("sigma"),
        nb::arg("normalise"), nb::arg("damp"), nb::arg("gradient").noconvert(), nb::arg("hessian").noconvert(),
        nb::arg("threads"));
}

}  // namespace pippin
