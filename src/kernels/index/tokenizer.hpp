// Words of texts, and tables that number texts in the order they are first met.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace pippin {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// FNV-1a, a byte at a time, so that a word is hashed while it is read.
inline constexpr std::uint64_t kHashStart = 14695981039346656037ULL;
inline std::uint64_t hash_byte(std::uint64_t hash, unsigned char byte) { return (hash ^ byte) * 1099511628211ULL; }
inline std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = kHashStart;
    for (const char c : text) hash = hash_byte(hash, static_cast<unsigned char>(c));
    return hash;
}

// Texts without repetition, numbered from 0 in the order they came.
class Numbering {
  public:
    std::uint32_t size() const { return static_cast<std::uint32_t>(starts_.size() - 1); }
    std::string_view operator[](std::uint32_t number) const {
        return std::string_view(bytes_).substr(starts_[number], starts_[number + 1] - starts_[number]);
    }
    const std::string& bytes() const { return bytes_; }
    const std::vector<std::uint64_t>& starts() const { return starts_; }

    // The number of a text, or kNone.
    std::uint32_t find(std::string_view text, std::uint64_t hash) const;
    // The number of a text, which is size() before the call if it is new.
    std::uint32_t add(std::string_view text, std::uint64_t hash);

  private:
    struct Slot {
        std::uint32_t tag;
        std::uint32_t number = kNone;
    };
    std::size_t place(std::string_view text, std::uint64_t hash) const;
    void grow();

    std::string bytes_;
    std::vector<std::uint64_t> starts_ = {0};
    std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two, at most two thirds full
};

// The numbers of texts in the order of their bytes, which is the order of their code points.
std::vector<std::uint32_t> sorted_numbers(const Numbering& texts);

// What a byte is in a word: itself in lower case, or 0 where no word goes on. Bytes of other scripts are letters; what
// is not a letter among them has been replaced by a blank before.
inline constexpr std::array<unsigned char, 256> kLetters = [] {
    std::array<unsigned char, 256> letters{};
    for (int c = 0; c < 256; ++c) {
        const bool upper = c >= 'A' && c <= 'Z';
        const bool letter = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c >= 0x80;
        letters[static_cast<std::size_t>(c)] = static_cast<unsigned char>(letter ? (upper ? c + 32 : c) : 0);
    }
    return letters;
}();

// Calls emit(word, hash) for each word of a text; `joined`: an apostrophe between two letters is passed over.
template <typename Emit>
void each_word(std::string_view text, bool joined, std::string& buffer, Emit&& emit) {
    if (buffer.size() < text.size()) buffer.resize(text.size());
    const auto* p = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = p + text.size();
    while (true) {
        while (p < end && !kLetters[*p]) ++p;
        if (p == end) return;
        std::size_t size = 0;
        std::uint64_t hash = kHashStart;
        for (; p < end; ++p) {
            const unsigned char letter = kLetters[*p];
            if (letter) {
                buffer[size++] = static_cast<char>(letter);
                hash = hash_byte(hash, letter);
            } else if (!(joined && *p == '\'' && p + 1 < end && kLetters[p[1]])) {
                break;
            }
        }
        emit(std::string_view(buffer.data(), size), hash);
    }
}

}  // namespace pippin
