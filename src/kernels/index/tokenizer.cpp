#include "index/tokenizer.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace pippin {
namespace {

std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

// The product above is weak in its low bits; a last multiplication brings the others down.
std::size_t first_slot(std::uint64_t hash, std::size_t mask) { return ((hash * 0x9E3779B97F4A7C15ULL) >> 20) & mask; }

}  // namespace

std::size_t Numbering::place(std::string_view text, std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    const std::uint32_t tag = tag_of(hash);
    std::size_t at = first_slot(hash, mask);
    while (slots_[at].number != kNone && !(slots_[at].tag == tag && (*this)[slots_[at].number] == text)) at = (at + 1) & mask;
    return at;
}

std::uint32_t Numbering::find(std::string_view text, std::uint64_t hash) const { return slots_[place(text, hash)].number; }

std::uint32_t Numbering::add(std::string_view text, std::uint64_t hash) {
    std::size_t at = place(text, hash);
    if (slots_[at].number != kNone) return slots_[at].number;
    if ((starts_.size() + 1) * 3 > slots_.size() * 2) {
        grow();
        at = place(text, hash);
    }
    const std::uint32_t number = size();
    if (number >= kNone / 2) throw std::length_error("more than two thousand million different texts");
    bytes_.append(text);
    starts_.push_back(bytes_.size());
    slots_[at] = {tag_of(hash), number};
    return number;
}

void Numbering::grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    const std::size_t mask = slots_.size() - 1;
    for (std::uint32_t number = 0; number < size(); ++number) {
        const std::uint64_t hash = hash_of((*this)[number]);
        std::size_t at = first_slot(hash, mask);
        while (slots_[at].number != kNone) at = (at + 1) & mask;
        slots_[at] = {tag_of(hash), number};
    }
}

std::vector<std::uint32_t> sorted_numbers(const Numbering& texts) {
    std::vector<std::uint32_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return texts[a] < texts[b]; });
    return order;
}

}  // namespace pippin
