// Hash table of the documents of one query by id, which also detects duplicates.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ranking/rank.hpp"

namespace pippin {

// The bytes at p as a number; `Word` says how many.
template <typename Word>
std::uint64_t load(const char* p) {
    Word word;
    __builtin_memcpy(&word, p, sizeof(Word));
    return word;
}

// All bits of a word into all of the hash: both halves of the long product. Of the lower half alone, ids that differ in
// their last characters only (doc1230, doc1240 …) would share their places.
inline std::uint64_t mix(std::uint64_t h, std::uint64_t word) {
    const auto product = static_cast<unsigned __int128>(h ^ word) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash(std::string_view text) {
    // FNV-1a over eight bytes at a time, the last eight again rather than the rest alone: every load has a fixed size,
    // and a copy of a few bytes into a zero would cost more than all else here.
    const char* const p = text.data();
    const std::size_t size = text.size();
    std::uint64_t h = 0xcbf29ce484222325ULL ^ size;
    if (size >= 8) {
        for (std::size_t i = 0; i + 8 < size; i += 8) h = mix(h, load<std::uint64_t>(p + i));
        return mix(h, load<std::uint64_t>(p + size - 8));
    }
    if (size >= 4) return mix(h, load<std::uint32_t>(p) << 32 | load<std::uint32_t>(p + size - 4));
    for (const char c : text) h = mix(h, static_cast<unsigned char>(c));
    return h;
}

// An open-addressing table of the documents of one query, reused from query to query. A slot is half of a hash and a row,
// counted from the query's first: eight bytes, so that the table of a thousand documents stays in the nearest cache. Ids
// are compared only where that half is the same.
class DocumentTable {
  public:
    void reset(std::int64_t first, std::int64_t last) {
        std::size_t size = 16;
        while (size < 2 * static_cast<std::size_t>(last - first)) size *= 2;
        slots_.assign(size, {0, -1});
        mask_ = size - 1;
        first_ = first;
    }
    // The row that holds this text already, or −1 after putting it in.
    std::int64_t insert(const Texts& ids, std::int64_t row) {
        const std::string_view text = ids[row];
        const std::uint64_t h = hash(text);
        for (std::size_t at = h & mask_;; at = (at + 1) & mask_) {
            Slot& slot = slots_[at];
            if (slot.row < 0) {
                slot = {static_cast<std::uint32_t>(h >> 32), static_cast<std::int32_t>(row - first_)};
                return -1;
            }
            if (slot.half == h >> 32 && ids[first_ + slot.row] == text) return first_ + slot.row;
        }
    }
    // The row that holds this text, or −1.
    std::int64_t find(const Texts& ids, std::string_view text) const {
        const std::uint64_t h = hash(text);
        for (std::size_t at = h & mask_; slots_[at].row >= 0; at = (at + 1) & mask_)
            if (slots_[at].half == h >> 32 && ids[first_ + slots_[at].row] == text) return first_ + slots_[at].row;
        return -1;
    }

  private:
    struct Slot {
        std::uint32_t half;
        std::int32_t row;
    };
    std::vector<Slot> slots_;
    std::size_t mask_ = 0;
    std::int64_t first_ = 0;
};

}  // namespace pippin
