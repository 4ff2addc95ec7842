#include "checksum.hpp"

#include <stdexcept>

#include "bind/bind.hpp"

namespace pippin {
namespace {

void check(std::size_t bytes, std::size_t block, std::size_t sums) {
    if (!block || (bytes + block - 1) / block != sums) throw std::invalid_argument("a checksum for every block");
}

}  // namespace

void bind_checksum(nb::module_& m) {
    m.def(
        "xxh3", [](In<std::uint8_t> bytes) { return xxh3(view(bytes)); }, nb::arg("bytes").noconvert(),
        nb::call_guard<nb::gil_scoped_release>());
    m.def(
        "block_checksums",
        [](In<std::uint8_t> bytes, std::size_t block, Out<std::uint64_t> sums, int threads) {
            check(bytes.size(), block, sums.size());
            block_checksums(view(bytes), block, view(sums), threads);
        },
        nb::arg("bytes").noconvert(), nb::arg("block"), nb::arg("sums").noconvert(), nb::arg("threads"),
        nb::call_guard<nb::gil_scoped_release>());
    m.def(
        "first_damaged",
        [](In<std::uint8_t> bytes, std::size_t block, In<std::uint64_t> sums, Out<std::uint8_t> checked, std::size_t first,
           std::size_t last, int threads) {
            check(bytes.size(), block, sums.size());
            if (checked.size() != sums.size() || first > last || last > sums.size())
                throw std::invalid_argument("blocks that are there, and a mark for each");
            return first_damaged(view(bytes), block, view(sums), view(checked), first, last, threads);
        },
        nb::arg("bytes").noconvert(), nb::arg("block"), nb::arg("sums").noconvert(), nb::arg("checked").noconvert(),
        nb::arg("first"), nb::arg("last"), nb::arg("threads"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace pippin
