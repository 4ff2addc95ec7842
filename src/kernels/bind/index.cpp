#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "bind/bind.hpp"
#include "index/builder.hpp"
#include "index/search.hpp"
#include "parallel.hpp"

namespace pippin {
namespace {

using Counts = nb::ndarray<nb::ndim<1>, nb::c_contig, nb::ro, nb::device::cpu>;

// The bytes of Python's strings, which must outlive the views.
std::vector<std::string_view> views(const nb::list& texts) {
    std::vector<std::string_view> found;
    found.reserve(texts.size());
    for (const nb::handle text : texts) {
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (!data) throw nb::python_error();
        found.emplace_back(data, static_cast<std::size_t>(size));
    }
    return found;
}

nb::list strings(const Numbering& texts, std::uint32_t first) {
    nb::list found;
    for (std::uint32_t i = first; i < texts.size(); ++i) found.append(nb::str(texts[i].data(), texts[i].size()));
    return found;
}

// A numbering as arrays: bytes, starts, lengths, and the numbers in the order of the texts.
nb::tuple arrays(const Numbering& texts) {
    std::vector<std::uint8_t> bytes(texts.bytes().begin(), texts.bytes().end());
    std::vector<std::int64_t> starts(texts.starts().begin(), texts.starts().end() - 1);
    std::vector<std::int32_t> lengths(texts.size());
    for (std::uint32_t i = 0; i < texts.size(); ++i) lengths[i] = static_cast<std::int32_t>(texts[i].size());
    return nb::make_tuple(column(std::move(bytes)), column(std::move(starts)), column(std::move(lengths)),
                          column(sorted_numbers(texts)));
}

// The postings of a stream. Those of a stream that is a union less the other members
// are computed on first use, and cached.
class Stream {
  public:
    Stream(In<std::int64_t> starts, In<std::uint8_t> postings, In<std::uint32_t> lengths, double average)
        : starts_(std::move(starts)), postings_(std::move(postings)), lengths_(std::move(lengths)), average_(average) {
        if (starts_.size() < 1 || view(starts_).front() != 0 ||
            view(starts_).back() != static_cast<std::int64_t>(postings_.size()))
            throw std::invalid_argument("the arrays of a stream do not fit together");
    }
    Stream(const Stream* whole, std::vector<const Stream*> others, In<std::uint32_t> lengths, double average)
        : lengths_(std::move(lengths)), average_(average), whole_(whole), others_(std::move(others)) {
        for (const Stream* stream : others_) check(*stream);
        check(*whole_);
    }

    Lengths lengths() const {
        std::call_once(measured_, [this] {
            if (lengths_.size() > 0) longest_ = *std::max_element(view(lengths_).begin(), view(lengths_).end());
        });
        return {view(lengths_), average_, static_cast<double>(longest_)};
    }
    AccumulatorPool& pool() const { return pool_; }
    std::size_t terms() const { return whole_ ? whole_->terms() : starts_.size() - 1; }

    Postings of(std::uint32_t term) const {
        if (term == kNone) return {};
        if (term >= terms()) throw std::invalid_argument("no such term");
        if (whole_) return {derived(term), lengths_.size()};
        const std::int64_t first = view(starts_)[term], last = view(starts_)[term + 1];
        if (first < 0 || last < first || last > static_cast<std::int64_t>(postings_.size())) damaged();
        return {view(postings_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)),
                lengths_.size()};
    }
    // With the counts of frequent words: those unpacked by earlier searches or, on request, all that fit into the
    // memory limit, which are cached.
    std::vector<QueryTerm> asked(std::span<const std::uint32_t> terms, bool unpacking) const {
        std::vector<QueryTerm> found;
        found.reserve(terms.size());
        for (const std::uint32_t term : terms) {
            found.push_back({of(term)});
            const std::lock_guard lock(guard_);
            auto known = frequent_.find(term);
            if (unpacking && known == frequent_.end() && (frequent_.size() + 1) * lengths_.size() <= kRoom)
                if (auto counts = frequent_counts(found.back().postings, lengths_.size()); !counts.empty())
                    known = frequent_.emplace(term, std::move(counts)).first;
            if (known != frequent_.end()) found.back().counts = known->second;
        }
        return found;
    }

  private:
    static constexpr std::size_t kRoom = std::size_t{64} << 20;  // bytes of counts of frequent words

    void check(const Stream& part) const {
        if (part.terms() != terms() || part.lengths_.size() != lengths_.size())
            throw std::invalid_argument("streams of one index do not fit together");
    }
    std::span<const std::uint8_t> derived(std::uint32_t term) const {
        const std::lock_guard lock(guard_);
        const auto [place, is_new] = derived_.try_emplace(term);
        if (is_new) {
            try {
                std::vector<Postings> less;
                for (const Stream* other : others_) less.push_back(other->of(term));
                place->second = subtract_postings(whole_->of(term), less, view(lengths_));
            } catch (...) {
                derived_.erase(place);
                throw;
            }
        }
        return place->second;
    }

    In<std::int64_t> starts_;
    In<std::uint8_t> postings_;
    In<std::uint32_t> lengths_;
    double average_;
    const Stream* whole_ = nullptr;
    std::vector<const Stream*> others_;
    mutable std::once_flag measured_;
    mutable std::uint32_t longest_ = 0;
    mutable std::mutex guard_;
    mutable AccumulatorPool pool_;
    mutable std::unordered_map<std::uint32_t, std::vector<std::uint8_t>> derived_, frequent_;
};

// The hits of all queries, concatenated: documents, scores, and the end of each query.
nb::tuple hits(const std::vector<std::vector<Hit>>& found) {
    std::size_t size = 0;
    for (const auto& one : found) size += one.size();
    std::vector<std::int64_t> numbers, ends;
    std::vector<double> scores;
    numbers.reserve(size), scores.reserve(size), ends.reserve(found.size());
    for (const auto& one : found) {
        for (const Hit& hit : one) numbers.push_back(hit.document), scores.push_back(hit.score);
        ends.push_back(static_cast<std::int64_t>(numbers.size()));
    }
    return nb::make_tuple(column(std::move(numbers)), column(std::move(scores)), column(std::move(ends)));
}

template <typename T>
auto last_column(std::vector<T> StreamPart::* values) {
    return [values](const Indexer& indexer, std::size_t stream) { return column(indexer.last(stream, values)); };
}

void bind_builder(nb::module_& m) {
    nb::class_<Numbering>(m, "Numbering", "Texts without repetition, numbered in the order they came.")
        .def(nb::init<>())
        .def("__len__", &Numbering::size)
        .def(
            "add",
            [](Numbering& numbering, const nb::list& texts) -> std::int64_t {
                // The place of the first text that was there before, or -1.
                const auto given = views(texts);
                for (std::size_t i = 0; i < given.size(); ++i) {
                    const std::uint32_t before = numbering.size();
                    if (numbering.add(given[i], hash_of(given[i])) != before) return static_cast<std::int64_t>(i);
                }
                return -1;
            },
            nb::arg("texts"))
        .def(
            "find",
            [](const Numbering& numbering, std::string_view text) -> std::int64_t {
                const std::uint32_t found = numbering.find(text, hash_of(text));
                return found == kNone ? -1 : static_cast<std::int64_t>(found);
            },
            nb::arg("text"))
        .def("arrays", &arrays);
    nb::class_<Indexer>(m, "Indexer", "Documents in, inverted files out.")
        .def(nb::init<std::size_t, std::vector<std::vector<std::size_t>>, bool, std::uint32_t>(), nb::arg("streams"),
             nb::arg("unions"), nb::arg("joined"), nb::arg("limit"))
        .def(
            "read",
            [](Indexer& indexer, const nb::list& texts, int threads) {
                const auto given = views(texts);
                {
                    const nb::gil_scoped_release release;
                    indexer.read(given, threads);
                }
                return strings(indexer.words(), indexer.first_new());
            },
            nb::arg("texts"), nb::arg("threads"))
        .def(
            "count",
            [](Indexer& indexer, const nb::list& terms, int threads) {
                const auto given = views(terms);
                const nb::gil_scoped_release release;
                indexer.resolve(given);
                indexer.count(threads);
            },
            nb::arg("terms"), nb::arg("threads"))
        .def("tokens", last_column(&StreamPart::tokens), nb::arg("stream"))
        .def("sizes", last_column(&StreamPart::sizes), nb::arg("stream"))
        .def("lengths", last_column(&StreamPart::lengths), nb::arg("stream"))
        .def("uniques", last_column(&StreamPart::uniques), nb::arg("stream"))
        .def(
            "invert",
            [](const Indexer& indexer, std::size_t stream, int threads) {
                std::optional<Inverted> to;
                {
                    const nb::gil_scoped_release release;
                    to = indexer.invert(stream, threads);
                }
                return nb::make_tuple(column(std::move(to->sizes)), column(std::move(to->documents)),
                                      column(std::move(to->counts)));
            },
            nb::arg("stream"), nb::arg("threads"))
        .def("leave_out", &Indexer::leave_out, nb::arg("stream"))
        .def("forget", &Indexer::forget)
        .def("terms", [](const Indexer& indexer) { return arrays(indexer.terms()); })
        .def("common", [](const Indexer& indexer) { return column(indexer.common()); })
        .def_prop_ro("held", &Indexer::held)
        .def_prop_ro("cut", &Indexer::cut);
    m.def(
        "place_postings",
        [](In<std::uint32_t> sizes, In<std::uint32_t> documents, In<std::uint32_t> counts, Out<std::int64_t> cursor,
           Out<std::uint32_t> to_documents, Out<std::uint32_t> to_counts) {
            place(view(sizes), view(documents), view(counts), view(cursor), view(to_documents), view(to_counts));
        },
        nb::arg("sizes").noconvert(), nb::arg("documents").noconvert(), nb::arg("counts").noconvert(),
        nb::arg("cursor").noconvert(), nb::arg("to_documents").noconvert(), nb::arg("to_counts").noconvert(),
        nb::call_guard<nb::gil_scoped_release>());
    m.def(
        "pack_postings",
        [](In<std::uint32_t> sizes, In<std::uint32_t> documents, In<std::uint32_t> counts, In<std::uint32_t> lengths,
           int threads) {
            std::optional<Packed> packed;
            {
                const nb::gil_scoped_release release;
                packed = pack(view(sizes), view(documents), view(counts), view(lengths), threads);
            }
            return nb::make_tuple(column(std::move(packed->bytes)), column(std::move(packed->sizes)),
                                  column(std::move(packed->occurrences)));
        },
        nb::arg("sizes").noconvert(), nb::arg("documents").noconvert(), nb::arg("counts").noconvert(),
        nb::arg("lengths").noconvert(), nb::arg("threads"));
}

}  // namespace

void bind_index(nb::module_& m) {
    bind_builder(m);
    nb::class_<Stream>(m, "Stream", "The postings of one stream of an index, ready to be asked.")
        .def(nb::init<In<std::int64_t>, In<std::uint8_t>, In<std::uint32_t>, double>(), nb::arg("starts").noconvert(),
             nb::arg("postings").noconvert(), nb::arg("lengths").noconvert(), nb::arg("average"))
        .def(nb::init<const Stream*, std::vector<const Stream*>, In<std::uint32_t>, double>(), nb::arg("whole"),
             nb::arg("others"), nb::arg("lengths").noconvert(), nb::arg("average"), nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 3>())
        .def(
            "frequencies",
            [](const Stream& stream, In<std::uint32_t> terms, Out<double> df, Out<double> cf) {
                if (df.size() != terms.size() || cf.size() != terms.size())
                    throw std::invalid_argument("a place for every term");
                for (std::size_t i = 0; i < terms.size(); ++i) {
                    const Postings postings = stream.of(view(terms)[i]);
                    df.data()[i] = static_cast<double>(postings.size());
                    cf.data()[i] = static_cast<double>(postings.occurrences());
                }
            },
            nb::arg("terms").noconvert(), nb::arg("df").noconvert(), nb::arg("cf").noconvert())
        .def(
            "postings",
            [](const Stream& stream, std::uint32_t term) {
                std::vector<std::int64_t> documents;
                std::vector<double> counts;
                unpack_postings(stream.of(term), documents, counts);
                return nb::make_tuple(column(std::move(documents)), column(std::move(counts)));
            },
            nb::arg("term"))
        .def(
            "scores",
            [](const Stream& stream, In<std::uint32_t> terms, double k1, double b, Out<double> scores) {
                const auto words = stream.asked(view(terms), true);
                if (scores.size() != stream.lengths().of.size()) throw std::invalid_argument("a score for every document");
                const nb::gil_scoped_release release;
                bm25_scores(stream.lengths(), words, {k1, b}, view(scores));
            },
            nb::arg("terms").noconvert(), nb::arg("k1"), nb::arg("b"), nb::arg("scores").noconvert())
        .def(
            "top",
            [](const Stream& stream, In<std::uint32_t> terms, In<std::int64_t> offsets, std::size_t n, double k1, double b,
               In<std::uint32_t> ranks, int threads) {
                const std::vector<QueryTerm> words = stream.asked(view(terms), true);
                if (ranks.size() != stream.lengths().of.size()) throw std::invalid_argument("a rank for every document");
                const std::size_t queries = offsets.size() - 1;
                std::vector<std::vector<Hit>> found(queries);
                {
                    const nb::gil_scoped_release release;
                    parallel_blocks(static_cast<std::int64_t>(queries), threads, 1, [&](std::int64_t first, std::int64_t last) {
                        for (auto q = static_cast<std::size_t>(first); q < static_cast<std::size_t>(last); ++q) {
                            const auto from = static_cast<std::size_t>(view(offsets)[q]);
                            const auto size = static_cast<std::size_t>(view(offsets)[q + 1]) - from;
                            found[q] = bm25_top(stream.lengths(), std::span(words).subspan(from, size), {k1, b}, n, view(ranks),
                                                stream.pool());
                        }
                    });
                }
                return hits(found);
            },
            nb::arg("terms").noconvert(), nb::arg("offsets").noconvert(), nb::arg("n"), nb::arg("k1"), nb::arg("b"),
            nb::arg("ranks").noconvert(), nb::arg("threads"));
    m.def(
        "count_words",
        [](const std::vector<const Stream*>& streams, In<std::uint32_t> terms, In<std::int64_t> numbers, Out<double> counts) {
            const std::size_t table = terms.size() * numbers.size();
            if (counts.size() != table * streams.size()) throw std::invalid_argument("a table for every stream");
            for (std::size_t s = 0; s < streams.size(); ++s)
                count_in(streams[s]->asked(view(terms), false), view(numbers), view(counts).subspan(s * table, table));
        },
        nb::arg("streams"), nb::arg("terms").noconvert(), nb::arg("numbers").noconvert(), nb::arg("counts").noconvert());
    m.def(
        "unpack_tokens",
        [](In<std::uint8_t> bytes, In<std::int64_t> begins, In<std::int64_t> ends, In<std::int64_t> offsets,
           In<std::uint32_t> common, std::uint32_t terms, Out<std::int32_t> tokens) {
            if (ends.size() != begins.size() || offsets.size() != begins.size() + 1)
                throw std::invalid_argument("an end and an offset for every document");
            unpack_tokens(view(bytes), view(begins), view(ends), view(offsets), view(common), terms, view(tokens));
        },
        nb::arg("bytes").noconvert(), nb::arg("begins").noconvert(), nb::arg("ends").noconvert(),
        nb::arg("offsets").noconvert(), nb::arg("common").noconvert(), nb::arg("terms"), nb::arg("tokens").noconvert(),
        nb::call_guard<nb::gil_scoped_release>());
    m.def(
        "find_texts",
        [](In<std::uint8_t> bytes, In<std::int64_t> starts, In<std::int32_t> lengths, In<std::uint32_t> order,
           const nb::list& wanted, Out<std::int64_t> numbers) {
            const auto given = views(wanted);
            if (starts.size() != lengths.size()) throw std::invalid_argument("a length for every start");
            find_texts(view(bytes), view(starts), view(lengths), view(order), given, view(numbers));
        },
        nb::arg("bytes").noconvert(), nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(),
        nb::arg("order").noconvert(), nb::arg("wanted"), nb::arg("numbers").noconvert());
}

}  // namespace pippin
