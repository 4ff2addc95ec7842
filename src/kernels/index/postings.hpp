// Packed postings of one term: bit-packed blocks of 128 documents and counts, each with a summary that can be read
// without unpacking; the remaining postings are byte-coded.
//
//   head       how many postings, and how often the term occurs beyond once in each: two times 32 bits, the low ones
//              first (varbyte all three)
//   if there is a block: the largest count, the length of the shortest document, 16-byte units of packed data
//   skips      12 bytes a block: its last document, where its data begins, widths, bounds of counts and lengths
//   blocks     gaps − 1 between documents, then counts − 1: 128 numbers of so many bits, number i in lane i mod 4
//   the rest   varbyte 2·(gap − 1) + (count > 1), and varbyte count − 2 if that is so
//
// The bytes come from untrusted files: a reader validates every number before using it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "index/tokenizer.hpp"

namespace pippin {

inline constexpr std::size_t kPacked = 128;  // postings of a block
inline constexpr std::size_t kSkipBytes = 12;

// Files are mapped and not validated when they are opened: invalid numbers are detected where they are used.
[[noreturn]] void damaged();

// A number in 8 bits, exact below 32 and then to one part in 16: the next one above, or the next one below.
std::uint8_t code_above(std::uint32_t value);
std::uint8_t code_below(std::uint32_t value);
std::uint32_t decoded(std::uint8_t code);

// Summary of a block.
struct Skip {
    std::uint32_t last;      // document
    std::uint32_t offset;    // of its data, in units of 16 bytes
    std::uint8_t document_bits, count_bits;
    std::uint8_t most;       // codes: no count is larger,
    std::uint8_t shortest;   // and no document is shorter
};

// Documents and counts of a block, unpacked.
struct Unpacked {
    std::size_t size = 0;
    alignas(16) std::array<std::uint32_t, kPacked> documents;
    alignas(16) std::array<std::uint32_t, kPacked> counts;
};

// The parts of one term's bytes, not yet unpacked.
class Postings {
  public:
    Postings() = default;
    // No bytes mean no postings. Throws if the bytes are not valid for a collection of this size.
    Postings(std::span<const std::uint8_t> bytes, std::size_t documents);

    std::size_t size() const { return size_; }
    std::uint64_t occurrences() const { return occurrences_; }
    std::size_t full() const { return full_; }                        // blocks of 128
    std::size_t blocks() const { return full_ + (size_ % kPacked > 0); }
    std::uint32_t most() const { return most_; }                      // of counts and lengths, if there is a block
    std::uint32_t shortest() const { return shortest_; }
    Skip skip(std::size_t block) const;                               // block < full()
    std::uint32_t last(std::size_t block) const;
    // Unpacks a block; its documents ascend and are all below the number of documents.
    void unpack(std::size_t block, Unpacked& to) const;

  private:
    void unpack_rest(Unpacked& to) const;

    std::size_t documents_ = 0, size_ = 0, full_ = 0;
    std::uint64_t occurrences_ = 0;
    std::uint32_t most_ = 0, shortest_ = 0;
    std::span<const std::uint8_t> skips_, data_, rest_;
};

// Appends the postings of a term to `to`; `lengths` are those of all documents of the stream.
void pack_postings(std::span<const std::uint32_t> documents, std::span<const std::uint32_t> counts,
                   std::span<const std::uint32_t> lengths, std::vector<std::uint8_t>& to);

// All documents and counts of a term.
void unpack_postings(const Postings& postings, std::vector<std::int64_t>& documents, std::vector<double>& counts);

// The packed postings of a term in the remainder of a stream after removing others that are part of it.
std::vector<std::uint8_t> subtract_postings(const Postings& whole, std::span<const Postings> others,
                                            std::span<const std::uint32_t> lengths);

// Variable-byte numbers: seven bits per byte, the lowest first; the highest bit says that more bytes follow.
inline void put_number(std::uint64_t value, std::vector<std::uint8_t>& to) {
    for (; value >= 128; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 128));
    to.push_back(static_cast<std::uint8_t>(value));
}
inline std::uint32_t take_number(const std::uint8_t*& from, const std::uint8_t* end) {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        if (from == end) damaged();
        const std::uint8_t byte = *from++;
        value |= static_cast<std::uint32_t>(byte & 127U) << shift;
        if (byte < 128) return value;
    }
    damaged();
}

// The words of documents in order: the bytes of document i are those from begins[i] to ends[i], its words go to
// tokens[offsets[i]] and on. A code is a place in `common`, where the term's number stands, or else that number.
void unpack_tokens(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> begins,
                   std::span<const std::int64_t> ends, std::span<const std::int64_t> offsets,
                   std::span<const std::uint32_t> common, std::uint32_t terms, std::span<std::int32_t> tokens);

}  // namespace pippin
