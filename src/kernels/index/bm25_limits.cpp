#include "index/bm25_limits.hpp"

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#define PIPPIN_WIDE __attribute__((target("avx2")))
#endif

namespace pippin {
namespace {

[[gnu::always_inline]] inline void mark(std::span<const Limit> words, std::size_t size, std::uint8_t* __restrict fits) {
    alignas(32) std::array<std::uint8_t, kWindow> adds, holds;
    std::fill_n(adds.data(), size, std::uint8_t{0});
    std::fill_n(holds.data(), size, std::uint8_t{0});
    std::fill_n(fits, size, std::uint8_t{1});
    for (const Limit& word : words) {
        const std::uint8_t* const counts = word.counts;
        const std::uint8_t enough = word.enough, beside = word.beside, alone = word.alone;
        if (word.is_adding)
            for (std::size_t i = 0; i < size; ++i) adds[i] |= counts[i] >= enough;
        else
            for (std::size_t i = 0; i < size; ++i) {
                holds[i] |= counts[i] > 0;
                fits[i] &= counts[i] <= (adds[i] ? beside : alone);
            }
    }
    for (std::size_t i = 0; i < size; ++i) fits[i] &= static_cast<std::uint8_t>(adds[i] | holds[i]);
}

#ifdef PIPPIN_WIDE
PIPPIN_WIDE void mark_wide(std::span<const Limit> words, std::size_t size, std::uint8_t* fits) { mark(words, size, fits); }
const bool is_wide = __builtin_cpu_supports("avx2");
#endif

}  // namespace

void mark_fitting(std::span<const Limit> words, std::size_t size, std::uint8_t* fits) {
#ifdef PIPPIN_WIDE
    if (is_wide) return mark_wide(words, size, fits);
#endif
    mark(words, size, fits);
}

}  // namespace pippin
