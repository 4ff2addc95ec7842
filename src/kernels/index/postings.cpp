#include "index/postings.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace pippin {
namespace {

constexpr std::size_t kUnit = 16;
constexpr std::size_t kVectors = kPacked / 4;
constexpr std::uint32_t kBefore = kNone;  // the document before the first: adding a gap of 1 gives 0

// Four numbers processed at once, which every 64-bit processor supports.
using Four = std::uint32_t __attribute__((vector_size(16)));

Four load(const std::uint8_t* from) {
    Four four;
    std::memcpy(&four, from, sizeof four);
    return four;
}

// One vector of numbers of `Bits` bits.
template <unsigned Bits, std::size_t I>
Four unpack_vector(const std::uint8_t* from) {
    constexpr std::size_t word = I * Bits / 32, shift = I * Bits % 32;
    Four four = load(from + kUnit * word) >> static_cast<int>(shift);
    if constexpr (shift + Bits > 32) four |= load(from + kUnit * (word + 1)) << static_cast<int>(32 - shift);
    if constexpr (Bits < 32) four &= (1U << Bits) - 1;
    return four;
}

template <unsigned Bits>
void unpack_bits(const std::uint8_t* from, Four* to) {
    if constexpr (Bits == 0) {
        std::fill_n(to, kVectors, Four{});
    } else {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((to[I] = unpack_vector<Bits, I>(from)), ...);
        }(std::make_index_sequence<kVectors>());
    }
}

using Unpack = void (*)(const std::uint8_t*, Four*);
constexpr auto kUnpack = []<std::size_t... B>(std::index_sequence<B...>) {
    return std::array<Unpack, sizeof...(B)>{&unpack_bits<B>...};
}(std::make_index_sequence<33>());

void pack_bits(std::span<const std::uint32_t, kPacked> numbers, unsigned bits, std::vector<std::uint8_t>& to) {
    std::array<std::uint32_t, kPacked> words{};
    for (std::size_t i = 0; bits > 0 && i < kPacked; ++i) {
        const std::size_t at = i / 4 * bits, word = at / 32 * 4 + i % 4, shift = at % 32;
        words[word] |= numbers[i] << shift;
        if (shift + bits > 32) words[word + 4] |= numbers[i] >> (32 - shift);
    }
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words.data());
    to.insert(to.end(), bytes, bytes + kUnit * bits);
}

// Numbers of two vectors in another order: those of the first are 0 … 3, those of the second 4 … 7.
#ifdef __clang__
#define PIPPIN_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PIPPIN_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Four{__VA_ARGS__})
#endif

// Converts gaps − 1 to documents: prefix sums within a vector, plus the last document of the previous vector.
void sum_gaps(std::uint32_t before, Four* gaps) {
    const Four zero{};
    Four sum = zero + before;
    for (std::size_t i = 0; i < kVectors; ++i) {
        Four four = gaps[i] + 1;
        four += PIPPIN_SHUFFLE(zero, four, 0, 4, 5, 6);
        four += PIPPIN_SHUFFLE(zero, four, 0, 0, 4, 5);
        sum = four + PIPPIN_SHUFFLE(sum, sum, 3, 3, 3, 3);
        gaps[i] = sum;
    }
}

void put_skip(const Skip& skip, std::vector<std::uint8_t>& to) {
    const std::size_t at = to.size();
    to.resize(at + kSkipBytes);
    std::memcpy(to.data() + at, &skip.last, 4);
    std::memcpy(to.data() + at + 4, &skip.offset, 4);
    const std::array<std::uint8_t, 4> small = {skip.document_bits, skip.count_bits, skip.most, skip.shortest};
    std::memcpy(to.data() + at + 8, small.data(), 4);
}

// Packs one block and returns its summary.
Skip pack_block(const std::uint32_t* documents, const std::uint32_t* counts, std::uint32_t before,
                std::span<const std::uint32_t> lengths, std::vector<std::uint8_t>& data) {
    std::array<std::uint32_t, kPacked> gaps, more;
    std::uint32_t wide = 0, high = 0, shortest = kNone;
    for (std::size_t i = 0; i < kPacked; ++i) {
        gaps[i] = documents[i] - std::exchange(before, documents[i]) - 1;
        more[i] = counts[i] - 1;
        wide |= gaps[i];
        high = std::max(high, more[i]);
        shortest = std::min(shortest, lengths[documents[i]]);
    }
    const auto offset = static_cast<std::uint32_t>(data.size() / kUnit);
    const auto bits = static_cast<unsigned>(std::bit_width(wide)), count_bits = static_cast<unsigned>(std::bit_width(high));
    pack_bits(gaps, bits, data);
    pack_bits(more, count_bits, data);
    return {before,
            offset,
            static_cast<std::uint8_t>(bits),
            static_cast<std::uint8_t>(count_bits),
            code_above(high + 1),
            code_below(shortest)};
}

}  // namespace

void damaged() { throw std::runtime_error("a number in it leads nowhere"); }

std::uint32_t decoded(std::uint8_t code) {
    if (code < 32) return code;
    if (code == 255) return kNone;  // the outliers
    return (16U + (code & 15U)) << ((code >> 4) - 1);
}

std::uint8_t code_below(std::uint32_t value) {
    if (value < 32) return static_cast<std::uint8_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - 5;
    return shift > 14 ? 254 : std::min<std::uint8_t>(254, static_cast<std::uint8_t>(shift * 16 + (value >> shift)));
}

std::uint8_t code_above(std::uint32_t value) {
    const std::uint8_t below = code_below(value);
    return decoded(below) == value ? below : static_cast<std::uint8_t>(below + 1);
}

Postings::Postings(std::span<const std::uint8_t> bytes, std::size_t documents) : documents_(documents) {
    if (bytes.empty()) return;
    const std::uint8_t* at = bytes.data();
    const std::uint8_t* const end = at + bytes.size();
    size_ = take_number(at, end);
    if (size_ == 0 || size_ > documents || documents > kNone / 2) damaged();
    occurrences_ = take_number(at, end);
    occurrences_ += static_cast<std::uint64_t>(take_number(at, end)) << 32;
    occurrences_ += size_;
    full_ = size_ / kPacked;
    if (full_ > 0) {
        most_ = take_number(at, end);
        shortest_ = take_number(at, end);
        const std::size_t data = kUnit * static_cast<std::size_t>(take_number(at, end)), skips = kSkipBytes * full_;
        if (static_cast<std::size_t>(end - at) < skips || static_cast<std::size_t>(end - at) - skips < data) damaged();
        skips_ = {at, skips};
        data_ = {at + skips, data};
        at += skips + data;
    }
    rest_ = {at, end};
}

Skip Postings::skip(std::size_t block) const {
    Skip skip;
    const std::uint8_t* const from = skips_.data() + block * kSkipBytes;
    std::memcpy(&skip.last, from, 4);
    std::memcpy(&skip.offset, from + 4, 4);
    skip.document_bits = from[8], skip.count_bits = from[9], skip.most = from[10], skip.shortest = from[11];
    if (skip.last >= documents_) damaged();
    return skip;
}

std::uint32_t Postings::last(std::size_t block) const {
    std::uint32_t last;
    std::memcpy(&last, skips_.data() + block * kSkipBytes, 4);
    return last;
}

void Postings::unpack(std::size_t block, Unpacked& to) const {
    if (block == full_) return unpack_rest(to);
    const Skip here = skip(block);
    const std::uint32_t before = block ? last(block - 1) : kBefore;
    if (block && before >= here.last) damaged();
    const std::size_t from = kUnit * static_cast<std::size_t>(here.offset);
    const std::size_t size = kUnit * (std::size_t{here.document_bits} + here.count_bits);
    if (here.document_bits > 32 || here.count_bits > 32 || from > data_.size() || data_.size() - from < size) damaged();
    auto* const documents = reinterpret_cast<Four*>(to.documents.data());
    auto* const counts = reinterpret_cast<Four*>(to.counts.data());
    kUnpack[here.document_bits](data_.data() + from, documents);
    kUnpack[here.count_bits](data_.data() + from + kUnit * here.document_bits, counts);
    // With gaps of at most 24 bits, sums of 128 gaps stay below 2³²: sums ascend, and checking the last one is enough.
    if (here.document_bits > 24) {
        std::uint64_t sum = static_cast<std::uint32_t>(before + 1);
        for (const std::uint32_t gap : to.documents) sum += std::uint64_t{gap} + 1;
        if (sum > kNone) damaged();
    }
    sum_gaps(before, documents);
    if (to.documents[kPacked - 1] != here.last) damaged();
    for (std::size_t i = 0; i < kVectors; ++i) counts[i] += 1;
    to.size = kPacked;
}

void Postings::unpack_rest(Unpacked& to) const {
    to.size = size_ % kPacked;
    const std::uint8_t* at = rest_.data();
    const std::uint8_t* const end = at + rest_.size();
    std::uint64_t document = full_ ? last(full_ - 1) : std::numeric_limits<std::uint64_t>::max();  // + 1 is 0
    for (std::size_t i = 0; i < to.size; ++i) {
        const std::uint32_t gap = take_number(at, end);
        document += (gap >> 1) + std::uint64_t{1};
        if (document >= documents_) damaged();
        to.documents[i] = static_cast<std::uint32_t>(document);
        to.counts[i] = gap & 1 ? take_number(at, end) + 2 : 1;
    }
}

void pack_postings(std::span<const std::uint32_t> documents, std::span<const std::uint32_t> counts,
                   std::span<const std::uint32_t> lengths, std::vector<std::uint8_t>& to) {
    if (documents.empty()) return;
    std::uint64_t more = 0;
    for (const std::uint32_t count : counts) more += count - 1;
    put_number(documents.size(), to);
    put_number(more & kNone, to);
    put_number(more >> 32, to);
    const std::size_t full = documents.size() / kPacked;
    std::uint32_t before = kBefore;
    if (full > 0) {
        std::vector<std::uint8_t> skips, data;
        std::uint32_t most = 0, shortest = kNone;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            most = std::max(most, counts[i]);
            shortest = std::min(shortest, lengths[documents[i]]);
        }
        for (std::size_t block = 0; block < full; ++block) {
            const std::size_t at = block * kPacked;
            const Skip skip = pack_block(documents.data() + at, counts.data() + at, before, lengths, data);
            put_skip(skip, skips);
            before = skip.last;
        }
        put_number(most, to);
        put_number(shortest, to);
        put_number(data.size() / kUnit, to);
        to.insert(to.end(), skips.begin(), skips.end());
        to.insert(to.end(), data.begin(), data.end());
    }
    for (std::size_t i = full * kPacked; i < documents.size(); ++i) {
        const std::uint32_t gap = documents[i] - std::exchange(before, documents[i]) - 1;
        put_number(std::uint64_t{2} * gap + (counts[i] > 1), to);
        if (counts[i] > 1) put_number(counts[i] - 2, to);
    }
}

void unpack_postings(const Postings& postings, std::vector<std::int64_t>& documents, std::vector<double>& counts) {
    Unpacked block;
    documents.reserve(postings.size());
    counts.reserve(postings.size());
    for (std::size_t b = 0; b < postings.blocks(); ++b) {
        postings.unpack(b, block);
        documents.insert(documents.end(), block.documents.data(), block.documents.data() + block.size);
        counts.insert(counts.end(), block.counts.data(), block.counts.data() + block.size);
    }
}

std::vector<std::uint8_t> subtract_postings(const Postings& whole, std::span<const Postings> others,
                                            std::span<const std::uint32_t> lengths) {
    Unpacked block;
    std::vector<std::uint32_t> documents, counts;
    for (std::size_t b = 0; b < whole.blocks(); ++b) {
        whole.unpack(b, block);
        documents.insert(documents.end(), block.documents.data(), block.documents.data() + block.size);
        counts.insert(counts.end(), block.counts.data(), block.counts.data() + block.size);
    }
    for (const Postings& other : others) {
        std::size_t at = 0;
        for (std::size_t b = 0; b < other.blocks(); ++b) {
            other.unpack(b, block);
            for (std::size_t i = 0; i < block.size; ++i) {
                while (at < documents.size() && documents[at] < block.documents[i]) ++at;
                if (at == documents.size() || documents[at] != block.documents[i] || counts[at] < block.counts[i]) damaged();
                counts[at] -= block.counts[i];
            }
        }
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < documents.size(); ++i)
        if (counts[i] > 0) documents[left] = documents[i], counts[left++] = counts[i];
    std::vector<std::uint8_t> packed;
    pack_postings(std::span(documents).first(left), std::span(counts).first(left), lengths, packed);
    return packed;
}

void unpack_tokens(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> begins,
                   std::span<const std::int64_t> ends, std::span<const std::int64_t> offsets,
                   std::span<const std::uint32_t> common, std::uint32_t terms, std::span<std::int32_t> tokens) {
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const std::int64_t first = offsets[i], last = offsets[i + 1];
        if (begins[i] < 0 || ends[i] < begins[i] || ends[i] > static_cast<std::int64_t>(bytes.size()) || first < 0 ||
            last < first || last > static_cast<std::int64_t>(tokens.size()))
            damaged();
        const std::uint8_t* at = bytes.data() + begins[i];
        const std::uint8_t* const end = bytes.data() + ends[i];
        for (auto to = static_cast<std::size_t>(first); to < static_cast<std::size_t>(last); ++to) {
            const std::uint32_t code = take_number(at, end), term = code < common.size() ? common[code] : code;
            if (term >= terms) damaged();
            tokens[to] = static_cast<std::int32_t>(term);
        }
        if (at != end) damaged();
    }
}

}  // namespace pippin
