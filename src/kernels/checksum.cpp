#include "checksum.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "parallel.hpp"

namespace pippin {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

// The constants of xxHash, as its specification gives them.
constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9,
                        kPrime4 = 0x85EBCA77C2B2AE63, kPrime5 = 0x27D4EB2F165667C5, kMix1 = 0x165667919E3779F9,
                        kMix2 = 0x9FB21C651E98DF25, kSmall1 = 0x9E3779B1, kSmall2 = 0x85EBCA77, kSmall3 = 0xC2B2AE3D;
constexpr std::array<std::uint8_t, 192> kSecret = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9,
    0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78,
    0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6,
    0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f,
    0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31,
    0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff,
    0xfa, 0x13, 0x63, 0xeb, 0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};
constexpr std::size_t kLanes = 8, kStripe = 64, kStripes = (kSecret.size() - kStripe) / 8;
constexpr std::int64_t kAtOnce = 16;  // blocks that a thread takes in turn
using Lanes = std::array<std::uint64_t, kLanes>;

template <typename Word = std::uint64_t>
std::uint64_t load(const std::uint8_t* place) {
    Word word;
    std::memcpy(&word, place, sizeof(word));
    return word;
}

std::uint64_t secret(std::size_t place) { return load(kSecret.data() + place); }

std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t avalanche(std::uint64_t hash) {
    hash = (hash ^ (hash >> 37)) * kMix1;
    return hash ^ (hash >> 32);
}

std::uint64_t strong_avalanche(std::uint64_t hash) {
    hash = (hash ^ (hash >> 33)) * kPrime2;
    hash = (hash ^ (hash >> 29)) * kPrime3;
    return hash ^ (hash >> 32);
}

std::uint64_t mix(const std::uint8_t* place, std::size_t key) {
    return folded(load(place) ^ secret(key), load(place + 8) ^ secret(key + 8));
}

std::uint64_t of_16(const std::uint8_t* in, std::size_t size) {
    if (size > 8) {
        const std::uint64_t low = load(in) ^ secret(24) ^ secret(32), high = load(in + size - 8) ^ secret(40) ^ secret(48);
        return avalanche(size + __builtin_bswap64(low) + high + folded(low, high));
    }
    if (size >= 4) {
        std::uint64_t hash = load<std::uint32_t>(in + size - 4) + (load<std::uint32_t>(in) << 32);
        hash ^= secret(8) ^ secret(16);
        hash = (hash ^ std::rotl(hash, 49) ^ std::rotl(hash, 24)) * kMix2;
        hash = (hash ^ ((hash >> 35) + size)) * kMix2;
        return hash ^ (hash >> 28);
    }
    if (!size) return strong_avalanche(secret(56) ^ secret(64));
    const std::uint64_t first = in[0], middle = in[size / 2], last = in[size - 1];
    const std::uint64_t key = load<std::uint32_t>(kSecret.data()) ^ load<std::uint32_t>(kSecret.data() + 4);
    return strong_avalanche((first << 16 | middle << 24 | last | size << 8) ^ key);
}

std::uint64_t of_128(const std::uint8_t* in, std::size_t size) {
    std::uint64_t hash = size * kPrime1;
    for (std::size_t pair = (size - 1) / 32 + 1; pair-- > 0;)
        hash += mix(in + 16 * pair, 32 * pair) + mix(in + size - 16 * (pair + 1), 32 * pair + 16);
    return avalanche(hash);
}

std::uint64_t of_240(const std::uint8_t* in, std::size_t size) {
    std::uint64_t hash = size * kPrime1;
    for (std::size_t i = 0; i < 8; ++i) hash += mix(in + 16 * i, 16 * i);
    hash = avalanche(hash);
    for (std::size_t i = 8; i < size / 16; ++i) hash += mix(in + 16 * i, 16 * (i - 8) + 3);
    return avalanche(hash + mix(in + size - 16, 136 - 17));
}

// Takes stripe after stripe into the lanes; the key moves on by a word for each.
void take(Lanes& lanes, const std::uint8_t* in, std::size_t stripes, const std::uint8_t* key) {
    for (; stripes > 0; --stripes, in += kStripe, key += 8) {
        Lanes words, keyed;
        for (std::size_t i = 0; i < kLanes; ++i) words[i] = load(in + 8 * i);
        for (std::size_t i = 0; i < kLanes; ++i) keyed[i] = words[i] ^ load(key + 8 * i);
        for (std::size_t i = 0; i < kLanes; ++i) lanes[i] += words[i ^ 1] + (keyed[i] & 0xFFFFFFFF) * (keyed[i] >> 32);
    }
}

#if defined(__x86_64__)
// The same with 256 bits at once.
__attribute__((target("avx2"))) void take_wide(Lanes& lanes, const std::uint8_t* in, std::size_t stripes,
                                               const std::uint8_t* key) {
    const auto at = [](const auto* place)
                        __attribute__((target("avx2"))) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(place)); };
    __m256i sums[2] = {at(&lanes[0]), at(&lanes[4])};
    for (; stripes > 0; --stripes, in += kStripe, key += 8)
        for (int half = 0; half < 2; ++half) {
            const __m256i words = at(in + 32 * half), keyed = _mm256_xor_si256(words, at(key + 32 * half));
            const __m256i product = _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32));
            const __m256i swapped = _mm256_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2));
            sums[half] = _mm256_add_epi64(sums[half], _mm256_add_epi64(swapped, product));
        }
    for (int half = 0; half < 2; ++half)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(&lanes[4 * static_cast<std::size_t>(half)]), sums[half]);
}

auto taker() { return __builtin_cpu_supports("avx2") ? &take_wide : &take; }
#else
auto taker() { return &take; }
#endif

std::uint64_t of_many(const std::uint8_t* in, std::size_t size) {
    Lanes lanes{kSmall3, kPrime1, kPrime2, kPrime3, kPrime4, kSmall2, kPrime5, kSmall1};
    const std::uint8_t* const key = kSecret.data();
    const auto take_stripes = taker();
    std::size_t left = (size - 1) / kStripe;
    const std::uint8_t* place = in;
    for (; left >= kStripes; left -= kStripes, place += kStripes * kStripe) {
        take_stripes(lanes, place, kStripes, key);
        for (std::size_t i = 0; i < kLanes; ++i)
            lanes[i] = (lanes[i] ^ (lanes[i] >> 47) ^ secret(kSecret.size() - kStripe + 8 * i)) * kSmall1;
    }
    take_stripes(lanes, place, left, key);
    take_stripes(lanes, in + size - kStripe, 1, key + kSecret.size() - kStripe - 7);
    std::uint64_t hash = size * kPrime1;
    for (std::size_t i = 0; i < kLanes; i += 2)
        hash += folded(lanes[i] ^ secret(11 + 8 * i), lanes[i + 1] ^ secret(19 + 8 * i));
    return avalanche(hash);
}

std::uint64_t of_block(std::span<const std::uint8_t> bytes, std::size_t block, std::size_t number) {
    const std::size_t from = number * block;
    return xxh3(bytes.subspan(from, std::min(block, bytes.size() - from)));
}

}  // namespace

std::uint64_t xxh3(std::span<const std::uint8_t> bytes) {
    const std::uint8_t* const in = bytes.data();
    const std::size_t size = bytes.size();
    return size <= 16 ? of_16(in, size) : size <= 128 ? of_128(in, size) : size <= 240 ? of_240(in, size) : of_many(in, size);
}

void block_checksums(std::span<const std::uint8_t> bytes, std::size_t block, std::span<std::uint64_t> sums, int threads) {
    parallel_blocks(static_cast<std::int64_t>(sums.size()), threads, kAtOnce, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
            sums[i] = of_block(bytes, block, i);
    });
}

std::int64_t first_damaged(std::span<const std::uint8_t> bytes, std::size_t block, std::span<const std::uint64_t> sums,
                           std::span<std::uint8_t> checked, std::size_t first, std::size_t last, int threads) {
    std::atomic<std::int64_t> worst{-1};
    const auto count = static_cast<std::int64_t>(last - first);
    parallel_blocks(count, threads, kAtOnce, [&](std::int64_t from, std::int64_t to) {
        for (std::size_t i = first + static_cast<std::size_t>(from); i < first + static_cast<std::size_t>(to); ++i) {
            const std::atomic_ref<std::uint8_t> mark(checked[i]);
            if (mark.load(std::memory_order_acquire)) continue;
            if (of_block(bytes, block, i) == sums[i]) {
                mark.store(1, std::memory_order_release);
                continue;
            }
            std::int64_t seen = worst.load();
            const auto here = static_cast<std::int64_t>(i);
            while ((seen < 0 || here < seen) && !worst.compare_exchange_weak(seen, here)) {
            }
        }
    });
    return worst.load();
}

}  // namespace pippin
