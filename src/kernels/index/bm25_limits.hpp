// Which documents can come among the best, judged by how often they hold frequent words alone: many at once.
//
// Thirty-two counts are compared at a time where the processor has AVX2, else sixteen; which it is is decided when it
// runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pippin {

inline constexpr std::uint8_t kMany = 255;    // a count that is looked up in the postings
inline constexpr std::size_t kWindow = 4096;  // documents that are looked through together

// Which counts of a frequent word a document must have to come among the best.
struct Limit {
    std::uint8_t enough = kMany;  // of a word that adds: so often
    std::uint8_t beside = 0;      // of a word that takes away: not more often in a document that holds one which adds,
    std::uint8_t alone = 0;       // nor in another one
    bool is_adding = false;
    const std::uint8_t* counts = nullptr;  // of the documents of the window
};

// Sets fits[i] to 1 where document i holds a word and keeps to the limits, else to 0; words that add come first.
void mark_fitting(std::span<const Limit> words, std::size_t size, std::uint8_t* fits);

}  // namespace pippin
