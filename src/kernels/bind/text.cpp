#include "text/text.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <optional>

#include "bind/bind.hpp"
#include "text/letor.hpp"
#include "text/trec.hpp"

namespace pippin {
namespace {

// A text error with the number of its line, which is counted only now.
struct LineError : std::runtime_error {
    LineError(std::int64_t at, const char* message) : std::runtime_error(message), line(at) {}
    std::int64_t line;
};

template <typename Work>
auto with_lines(Bytes text, Work&& work) {
    const nb::gil_scoped_release release;
    try {
        return work();
    } catch (const TextError& error) {
        throw LineError(line_at(text, error.offset), error.what());
    }
}

void translate(const std::exception_ptr& pointer, void* type) {
    try {
        std::rethrow_exception(pointer);
    } catch (const LineError& error) {
        const std::string_view message = error.what();
        nb::object text = nb::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
        PyErr_SetObject(static_cast<PyObject*>(type), nb::make_tuple(error.line, text).ptr());
    }
}

// First row, start and length of every stretch of one query.
nb::tuple columns(const std::vector<Segment>& segments) {
    std::vector<std::int64_t> rows, starts, lengths;
    for (const Segment& s : segments) {
        rows.push_back(s.row);
        starts.push_back(s.start);
        lengths.push_back(s.length);
    }
    return nb::make_tuple(column(std::move(rows)), column(std::move(starts)), column(std::move(lengths)));
}

nb::bytes bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

nb::tuple trec_result(const TrecIndex& index) {
    const auto span = [](const Segment& s) { return std::pair{s.start, s.length}; };
    return nb::make_tuple(index.rows, columns(index.segments), span(index.first_tag), span(index.last_tag));
}

void bind_trec(nb::module_& m) {
    m.def(
        "count_lines",
        [](In<std::uint8_t> text, bool lenient, int threads) {
            auto pieces = std::make_unique<Pieces>(cut_text(view(text), lenient));
            with_lines(view(text), [&] { count_lines(view(text), *pieces, lenient, threads); });
            return pieces.release();
        },
        nb::rv_policy::take_ownership, nb::arg("text").noconvert(), nb::arg("lenient"), nb::arg("threads"));
    m.def(
        "parse_run",
        [](In<std::uint8_t> text, const Pieces& pieces, bool lenient, bool comments, bool infinite, Out<std::int64_t> starts,
           Out<std::int32_t> lengths, Out<double> scores, int threads) {
            return trec_result(with_lines(view(text), [&] {
                const ReadOptions options{lenient, threads, comments, infinite};
                return parse_run(view(text), pieces, options, view(starts), view(lengths), view(scores));
            }));
        },
        nb::arg("text").noconvert(), nb::arg("pieces"), nb::arg("lenient"), nb::arg("comments"), nb::arg("infinite"),
        nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(), nb::arg("scores").noconvert(), nb::arg("threads"));
    m.def(
        "parse_judgements",
        [](In<std::uint8_t> text, const Pieces& pieces, bool lenient, bool comments, Out<std::int64_t> starts,
           Out<std::int32_t> lengths, Out<std::int32_t> labels, int threads) {
            return trec_result(with_lines(view(text), [&] {
                const ReadOptions options{lenient, threads, comments, false};
                return parse_judgements(view(text), pieces, options, view(starts), view(lengths), view(labels));
            }));
        },
        nb::arg("text").noconvert(), nb::arg("pieces"), nb::arg("lenient"), nb::arg("comments"), nb::arg("starts").noconvert(),
        nb::arg("lengths").noconvert(), nb::arg("labels").noconvert(), nb::arg("threads"));
    m.def(
        "parse_scores",
        [](In<std::uint8_t> text, const Pieces& pieces, bool lenient, bool infinite, Out<double> scores, int threads) {
            return with_lines(
                view(text), [&] { return parse_scores(view(text), pieces, {lenient, threads, true, infinite}, view(scores)); });
        },
        nb::arg("text").noconvert(), nb::arg("pieces"), nb::arg("lenient"), nb::arg("infinite"), nb::arg("scores").noconvert(),
        nb::arg("threads"));
}

template <typename T>
void bind_letor(nb::module_& m) {
    m.def(
        "parse_letor",
        [](In<std::uint8_t> text, const Pieces& pieces, T absent, OutTable<T> features, Out<std::int32_t> labels,
           Out<std::int64_t> lines, Out<std::int64_t> document_starts, Out<std::int32_t> document_lengths,
           Out<std::int64_t> comment_starts, Out<std::int32_t> comment_lengths, int threads) {
            const LetorColumns<T> to{view(features),        static_cast<std::int64_t>(features.shape(1)),
                                     view(labels),          view(lines),
                                     view(document_starts), view(document_lengths),
                                     view(comment_starts),  view(comment_lengths)};
            return columns(with_lines(view(text), [&] { return parse_letor(view(text), pieces, absent, to, threads); }));
        },
        nb::arg("text").noconvert(), nb::arg("pieces"), nb::arg("absent"), nb::arg("features").noconvert(),
        nb::arg("labels").noconvert(), nb::arg("lines").noconvert(), nb::arg("document_starts").noconvert(),
        nb::arg("document_lengths").noconvert(), nb::arg("comment_starts").noconvert(), nb::arg("comment_lengths").noconvert(),
        nb::arg("threads"));
    m.def(
        "format_letor",
        [](InTable<T> features, In<std::int32_t> labels, In<std::int64_t> offsets, In<std::uint8_t> query_buffer,
           In<std::int64_t> query_starts, In<std::int32_t> query_lengths, In<std::uint8_t> buffer, In<std::int64_t> starts,
           In<std::int32_t> lengths, std::int64_t first, std::int64_t last) {
            const LetorRows<T> rows{
                view(features), static_cast<std::int64_t>(features.shape(1)),     view(labels),
                view(offsets),  texts(query_buffer, query_starts, query_lengths), texts(buffer, starts, lengths)};
            return bytes(format_letor(rows, first, last));
        },
        nb::arg("features").noconvert(), nb::arg("labels").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("query_buffer").noconvert(), nb::arg("query_starts").noconvert(), nb::arg("query_lengths").noconvert(),
        nb::arg("buffer").noconvert(), nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(), nb::arg("first"),
        nb::arg("last"));
}

}  // namespace

void bind_text(nb::module_& m) {
    PyObject* error = PyErr_NewException("pippin._native.ParseError", PyExc_ValueError, nullptr);
    m.attr("ParseError") = nb::steal(error);
    nb::register_exception_translator(translate, error);
    nb::class_<Pieces>(m, "Pieces", "Where a text is cut for threads, and how many rows stand before each cut.")
        .def_prop_ro("rows", [](const Pieces& pieces) { return pieces.rows.back(); });
    m.def(
        "line_at", [](In<std::uint8_t> text, std::int64_t offset) { return line_at(view(text), offset); },
        nb::arg("text").noconvert(), nb::arg("offset"));
    m.def("longest_text", [](In<std::uint8_t> page) { return longest_text(view(page)); }, nb::arg("page").noconvert());
    m.def(
        "scan_letor",
        [](In<std::uint8_t> text, int threads) {
            LetorShape shape = with_lines(view(text), [&] { return scan_letor(view(text), threads); });
            const std::int64_t width = shape.width;
            return std::pair{std::make_unique<Pieces>(std::move(shape.pieces)), width};
        },
        nb::arg("text").noconvert(), nb::arg("threads"));
    m.def(
        "find_queries",
        [](In<std::uint8_t> text, int threads) {
            std::vector<std::int64_t> begins, starts, lengths, rows, widths;
            for (const QueryLines& query : with_lines(view(text), [&] { return find_queries(view(text), threads); })) {
                begins.push_back(query.begin);
                starts.push_back(query.start);
                lengths.push_back(query.length);
                rows.push_back(query.rows);
                widths.push_back(query.width);
            }
            return nb::make_tuple(column(std::move(begins)), column(std::move(starts)), column(std::move(lengths)),
                                  column(std::move(rows)), column(std::move(widths)));
        },
        nb::arg("text").noconvert(), nb::arg("threads"));
    m.def(
        "format_numbers", [](In<double> numbers) { return bytes(format_numbers(view(numbers))); },
        nb::arg("numbers").noconvert());
    m.def(
        "whole_number",
        [](const std::string& token) -> std::optional<double> {
            double value;
            if (!whole_number(token, value)) return std::nullopt;
            return value;
        },
        nb::arg("token"));
    m.def(
        "leading_number", [](const std::string& token, bool hexadecimal) { return leading_number(token, hexadecimal); },
        nb::arg("token"), nb::arg("hexadecimal"));
    bind_trec(m);
    bind_letor<float>(m);
    bind_letor<double>(m);
}

}  // namespace pippin
