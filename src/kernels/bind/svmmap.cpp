#include "training/svmmap.hpp"

#include <algorithm>
#include <stdexcept>

#include "bind/bind.hpp"

namespace pippin {
namespace {

Judged judged(const In<std::uint8_t>& relevant, const In<std::int64_t>& offsets) {
    const Judged data{view(relevant), view(offsets)};
    if (data.offsets.empty() || data.offsets.front() != 0 || !std::is_sorted(data.offsets.begin(), data.offsets.end()) ||
        data.offsets.back() != static_cast<std::int64_t>(data.relevant.size())) {
        throw std::invalid_argument("offsets that cut the documents are needed");
    }
    for (std::size_t q = 0; q + 1 < data.offsets.size(); ++q) {
        const auto own = data.relevant.subspan(static_cast<std::size_t>(data.offsets[q]),
                                               static_cast<std::size_t>(data.offsets[q + 1] - data.offsets[q]));
        const auto good = std::count(own.begin(), own.end(), std::uint8_t{1});
        if (good == 0 || good == static_cast<std::ptrdiff_t>(own.size())) {
            throw std::invalid_argument("queries with relevant and other documents are needed");
        }
    }
    return data;
}

void bind_most_violated(In<std::uint8_t> relevant, In<std::int64_t> offsets, In<double> scores, Out<double> coefficients,
                        Out<double> losses, int threads) {
    const Judged data = judged(relevant, offsets);
    if (scores.size() != relevant.size() || coefficients.size() != relevant.size() || losses.size() + 1 != offsets.size()) {
        throw std::invalid_argument("one score per document and one loss per query are needed");
    }
    nb::gil_scoped_release free;
    most_violated(data, view(scores), view(coefficients), view(losses), threads);
}

void bind_pass(In<std::uint8_t> relevant, In<std::int64_t> offsets, InTable<double> features, In<std::int64_t> order,
               double regularisation, Out<double> weights, OutTable<double> blocks, Out<double> losses) {
    const Judged data = judged(relevant, offsets);
    const auto queries = static_cast<std::int64_t>(losses.size());
    if (features.shape(0) != relevant.size() || features.shape(1) != weights.size() || blocks.shape(0) != losses.size() ||
        blocks.shape(1) != weights.size() || offsets.size() != losses.size() + 1) {
        throw std::invalid_argument("a row per document, and a block and a loss per query are needed");
    }
    for (const std::int64_t q : view(order)) {
        if (q < 0 || q >= queries) throw std::invalid_argument("an order of the queries is needed");
    }
    nb::gil_scoped_release free;
    frank_wolfe_pass(data, view(features), view(order), regularisation, {view(weights), view(blocks), view(losses)});
}

}  // namespace

void bind_svmmap(nb::module_& m) {
    const auto relevant = nb::arg("relevant").noconvert(), offsets = nb::arg("offsets").noconvert();
    m.def("most_violated", &bind_most_violated, relevant, offsets, nb::arg("scores").noconvert(),
          nb::arg("coefficients").noconvert(), nb::arg("losses").noconvert(), nb::arg("threads"));
    m.def("frank_wolfe_pass", &bind_pass, relevant, offsets, nb::arg("features").noconvert(), nb::arg("order").noconvert(),
          nb::arg("regularisation"), nb::arg("weights").noconvert(), nb::arg("blocks").noconvert(),
          nb::arg("losses").noconvert());
}

}  // namespace pippin
