// A dict of dicts, query to document to number, as columns. It walks over Python's own objects, so that there is nothing
// of it below the bindings: an id is copied once, from the text that Python holds, and no object is made for a row.
#include "bind/bind.hpp"

namespace pippin {
namespace {

struct NestedColumns {
    std::vector<std::uint8_t> buffer;
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> lengths;
    std::vector<double> numbers;
    std::vector<std::int64_t> offsets{0};
};

bool add_number(PyObject* value, NestedColumns& to) {
    if (PyFloat_Check(value)) {
        to.numbers.push_back(PyFloat_AsDouble(value));
    } else if (PyLong_Check(value)) {
        to.numbers.push_back(PyLong_AsDouble(value));
        if (to.numbers.back() == -1.0 && PyErr_Occurred()) return false;
    } else {
        return false;
    }
    return true;
}

bool add_id(PyObject* key, NestedColumns& to) {
    if (!PyUnicode_CheckExact(key)) return false;
    Py_ssize_t size;
    const char* const text = PyUnicode_AsUTF8AndSize(key, &size);
    if (text == nullptr || size > std::numeric_limits<std::int32_t>::max()) return false;
    to.starts.push_back(static_cast<std::int64_t>(to.buffer.size()));
    to.lengths.push_back(static_cast<std::int32_t>(size));
    to.buffer.insert(to.buffer.end(), text, text + size);
    return true;
}

bool add_query(PyObject* documents, NestedColumns& to) {
    if (!PyDict_CheckExact(documents)) return false;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(documents, &at, &key, &value);)
        if (!add_id(key, to) || !add_number(value, to)) return false;
    to.offsets.push_back(static_cast<std::int64_t>(to.numbers.size()));
    return true;
}

// None if a key is not a string or a value is not a number: the caller then takes a slower path that reports the error.
nb::object nested_columns(const nb::dict& nested) {
    NestedColumns found;
    PyObject *query, *documents;
    for (Py_ssize_t at = 0; PyDict_Next(nested.ptr(), &at, &query, &documents);) {
        if (!add_query(documents, found)) {
            PyErr_Clear();
            return nb::none();
        }
    }
    return nb::make_tuple(column(std::move(found.buffer)), column(std::move(found.starts)), column(std::move(found.lengths)),
                          column(std::move(found.numbers)), column(std::move(found.offsets)));
}

}  // namespace

void bind_nested(nb::module_& m) { m.def("nested_columns", &nested_columns, nb::arg("nested").noconvert()); }

}  // namespace pippin
