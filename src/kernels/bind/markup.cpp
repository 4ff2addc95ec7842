#include "text/markup.hpp"

#include "bind/bind.hpp"

namespace pippin {
namespace {

std::string_view view_of(const nb::str& text) {
    Py_ssize_t size;
    const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!data) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}

nb::str text_of(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::list lines(const nb::str& html, const nb::str& blocks, const nb::str& unseen, const nb::str& matter,
               const nb::callable& look_of) {
    const auto asked = [&](std::string_view name, std::string_view attributes, std::int32_t outer) {
        return nb::cast<std::int32_t>(look_of(text_of(name), text_of(attributes), outer));
    };
    nb::list all;
    for (const MarkupLine& line : markup_lines(view_of(html), view_of(blocks), view_of(unseen), view_of(matter), asked)) {
        nb::list texts, looks;
        for (const std::string& text : line.texts) texts.append(text_of(text));
        for (const std::int32_t look : line.looks) looks.append(look);
        all.append(nb::make_tuple(texts, looks));
    }
    return all;
}

}  // namespace

void bind_markup(nb::module_& m) { m.def("markup_lines", &lines); }

}  // namespace pippin
