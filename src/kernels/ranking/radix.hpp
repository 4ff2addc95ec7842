// Sorts keys of 64 bits with what belongs to them, digit by digit from the lowest, so that equal keys keep their order.
// Much faster than comparing once there are some thousands; digits that all keys share cost nothing but their count.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace pippin {

struct KeyedItem {
    std::uint64_t key;
    std::int64_t item;
};

inline void radix_sort(std::vector<KeyedItem>& entries) {
    constexpr int kBits = 11, kDigits = (64 + kBits - 1) / kBits;
    constexpr std::size_t kValues = std::size_t{1} << kBits;
    if (entries.size() < 2 * kValues) {
        std::stable_sort(entries.begin(), entries.end(), [](const KeyedItem& a, const KeyedItem& b) { return a.key < b.key; });
        return;
    }
    const auto digit = [](std::uint64_t key, int d) { return (key >> (kBits * d)) & (kValues - 1); };
    std::vector<std::array<std::size_t, kValues>> counts(kDigits);
    for (const KeyedItem& entry : entries)
        for (int d = 0; d < kDigits; ++d) ++counts[static_cast<std::size_t>(d)][digit(entry.key, d)];
    std::vector<KeyedItem> other(entries.size());
    for (int d = 0; d < kDigits; ++d) {
        std::array<std::size_t, kValues>& next = counts[static_cast<std::size_t>(d)];
        if (next[digit(entries[0].key, d)] == entries.size()) continue;
        std::size_t before = 0;
        for (std::size_t& place : next) before += std::exchange(place, before);
        for (const KeyedItem& entry : entries) other[next[digit(entry.key, d)]++] = entry;
        entries.swap(other);
    }
}

}  // namespace pippin
