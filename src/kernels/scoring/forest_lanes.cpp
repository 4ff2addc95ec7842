#include "scoring/forest_lanes.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LANES plain
#define LANES_TARGET
#define LANES_LEVEL 0
#include "scoring/forest_lanes.inc"
#undef LANES
#undef LANES_TARGET
#undef LANES_LEVEL

#if defined(__x86_64__)
#define LANES avx2
#define LANES_TARGET __attribute__((target("avx2,popcnt")))
#define LANES_LEVEL 2
#include "scoring/forest_lanes.inc"
#undef LANES
#undef LANES_TARGET
#undef LANES_LEVEL

#define LANES avx512
#define LANES_TARGET __attribute__((target("avx2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")))
#define LANES_LEVEL 512
#include "scoring/forest_lanes.inc"
#undef LANES
#undef LANES_TARGET
#undef LANES_LEVEL
#endif

namespace pippin {

ScoreBlock score_block(const char* name) {
    const auto wanted = [name](const char* other) { return !name || !std::strcmp(name, other); };
#if defined(__x86_64__)
    if (wanted("avx512") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &avx512::score;
    if (wanted("avx2") && __builtin_cpu_supports("avx2")) return &avx2::score;
#endif
    return wanted("plain") ? &plain::score : nullptr;
}

}  // namespace pippin
