// Selects the documents that can reach the top k by their counts of frequent words alone.
//
// Compares 32 counts at a time with AVX2, else 16; the choice is made at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pippin {

inline constexpr std::uint8_t kMany = 255;    // marks a count that must be looked up in the postings
inline constexpr std::size_t kWindow = 4096;  // documents processed together

// The counts of a frequent word with which a document can reach the top k.
struct Limit {
    std::uint8_t enough = kMany;  // of a word that adds: so often
    std::uint8_t beside = 0;      // of a word that takes away: not more often in a document that holds one which adds,
    std::uint8_t alone = 0;       // nor in another one
    bool is_adding = false;
    const std::uint8_t* counts = nullptr;  // of the documents of the window
};

// Sets fits[i] to 1 if document i contains a word and is within the limits, else to 0; words with positive weight come
// first.
void mark_fitting(std::span<const Limit> words, std::size_t size, std::uint8_t* fits);

}  // namespace pippin
