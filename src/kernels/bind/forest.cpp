#include "scoring/forest.hpp"

#include <stdexcept>
#include <string>

#include "bind/bind.hpp"

namespace pippin {

void bind_forest(nb::module_& m) {
    nb::class_<Forest>(m, "Forest", "Trees, arranged for scoring.")
        .def(
            "__init__",
            [](Forest* self, In<std::int64_t> leaves, In<std::int64_t> groups, In<std::int32_t> features, In<std::int32_t> left,
               In<std::int32_t> right, In<double> thresholds, In<std::uint8_t> missing, In<double> values, std::int64_t width,
               double zero, bool single) {
                const nb::gil_scoped_release release;
                new (self) Forest(pack({view(leaves), view(groups), view(features), view(left), view(right), view(thresholds),
                                        view(missing), view(values)},
                                       width, zero, single));
            },
            nb::arg("leaves").noconvert(), nb::arg("groups").noconvert(), nb::arg("features").noconvert(),
            nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("thresholds").noconvert(),
            nb::arg("missing").noconvert(), nb::arg("values").noconvert(), nb::arg("width"), nb::arg("zero"), nb::arg("single"))
        .def(
            "scores",
            [](const Forest& self, InTable<double> table, Out<double> scores, int threads, const std::string& instructions) {
                if (static_cast<std::int64_t>(table.shape(1)) != self.features || table.shape(0) != scores.size())
                    throw std::invalid_argument("the table is not one of the features of these trees");
                const ScoreBlock block = score_block(instructions.empty() ? nullptr : instructions.c_str());
                if (!block) throw std::invalid_argument("this processor does not support " + instructions);
                const nb::gil_scoped_release release;
                score(self, view(table), view(scores), threads, block, !instructions.empty());
            },
            nb::arg("table").noconvert(), nb::arg("scores").noconvert(), nb::arg("threads"), nb::arg("instructions"));
    m.def(
        "read_numbers",
        [](std::string_view text, bool whole, bool infinite, Out<double> values) {
            const nb::gil_scoped_release release;
            read_numbers(text, whole, infinite, view(values));
        },
        nb::arg("text"), nb::arg("whole"), nb::arg("infinite"), nb::arg("values").noconvert());
}

}  // namespace pippin
