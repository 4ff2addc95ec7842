#include "text/decimals.hpp"

#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bind/bind.hpp"

namespace pippin {
namespace {

nb::bytes format(InTable<double> table, std::vector<std::string> before, In<bool> printed, Out<std::int64_t> ends) {
    if (before.size() != table.shape(1) || printed.size() != before.size() || ends.size() != table.shape(0))
        throw std::invalid_argument("a beginning for every column and an end for every row are needed");
    std::vector<Column> columns;
    for (std::size_t i = 0; i < before.size(); ++i) columns.push_back({std::move(before[i]), printed.data()[i]});
    const std::string text = [&] {
        const nb::gil_scoped_release release;
        return format_decimals(view(table), columns, view(ends));
    }();
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_decimals(nb::module_& m) { m.def("format_decimals", &format); }

}  // namespace pippin
