#include "index/bm25_norm.hpp"

#if defined(__x86_64__)
#define PIPPIN_WIDE __attribute__((target("avx2")))
#endif

namespace pippin {
namespace {

[[gnu::always_inline]] inline void additions_of(Norm norm, double weight, const std::uint32_t* counts,
                                                const std::uint32_t* documents, const std::uint32_t* lengths, std::size_t size,
                                                double* __restrict added) {
    for (std::size_t i = 0; i < size; ++i) added[i] = norm.addition(weight, number(counts[i]), number(lengths[documents[i]]));
}

#ifdef PIPPIN_WIDE
PIPPIN_WIDE void wide_additions(Norm norm, double weight, const std::uint32_t* counts, const std::uint32_t* documents,
                                const std::uint32_t* lengths, std::size_t size, double* added) {
    additions_of(norm, weight, counts, documents, lengths, size, added);
}
const bool is_wide = __builtin_cpu_supports("avx2");
#endif

}  // namespace

void Norm::additions(double weight, const std::uint32_t* counts, const std::uint32_t* documents, const std::uint32_t* lengths,
                     std::size_t size, double* added) const {
#ifdef PIPPIN_WIDE
    if (is_wide) return wide_additions(*this, weight, counts, documents, lengths, size, added);
#endif
    additions_of(*this, weight, counts, documents, lengths, size, added);
}

}  // namespace pippin
