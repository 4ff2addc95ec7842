// Forward iterator over the postings of one word that unpacks only the blocks it reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "index/postings.hpp"

namespace pippin {

// The place of the first document of a block not before `target`.
inline std::size_t place(const Unpacked& block, std::uint32_t target) {
    const std::uint32_t* found = block.documents.data();
    for (std::size_t size = block.size; size > 0;) {
        const std::size_t half = (size + 1) / 2;
        found += found[half - 1] < target ? half : 0;
        size -= half;
    }
    return static_cast<std::size_t>(found - block.documents.data());
}

// Forward iterator over the postings of a word; unpacks only the blocks it reads.
class Reader {
  public:
    explicit Reader(const Postings& postings) : postings_(postings), blocks_(postings.blocks()) {
        if (blocks_ > postings_.full()) {
            unpack(postings_.full());
            last_ = data_.documents[data_.size - 1];
        }
    }

    std::size_t blocks() const { return blocks_; }
    const Postings& postings() const { return postings_; }
    std::uint32_t last(std::size_t block) const { return block < postings_.full() ? postings_.last(block) : last_; }

    const Unpacked& unpack(std::size_t block) {
        if (block != unpacked_) {
            unpacked_ = kNoBlock;
            postings_.unpack(block, data_);
            unpacked_ = block;
        }
        return data_;
    }

    // Moves to the first block that has a document not before `target`: doubling steps, then halving.
    void advance(std::uint32_t target) {
        if (block_ == blocks_ || last(block_) >= target) return;
        std::size_t low = block_, step = 1;
        while (low + step < blocks_ && last(low + step) < target) low += step, step *= 2;
        std::size_t high = std::min(low + step, blocks_);  // last(low) < target, and not so at `high`
        while (high - low > 1) {
            const std::size_t middle = (low + high) / 2;
            (last(middle) < target ? low : high) = middle;
        }
        block_ = high;
    }

    // The count in a document, 0 if it does not hold the word.
    std::uint32_t count(std::uint32_t document) {
        if (block_ > 0 && last(block_ - 1) >= document) block_ = 0;
        advance(document);
        if (block_ == blocks_) return 0;
        const Unpacked& here = unpack(block_);
        const std::size_t at = place(here, document);
        return at < here.size && here.documents[at] == document ? here.counts[at] : 0;
    }

    // Calls take(documents, counts, size) for the postings from document `start` to before `end`, a block at a time.
    template <typename Take>
    void each_piece(std::uint32_t start, std::uint32_t end, Take&& take) {
        if (block_ > 0 && last(block_ - 1) >= start) block_ = 0;
        for (advance(start); block_ < blocks_; ++block_) {
            const Unpacked& here = unpack(block_);
            const bool is_last = here.documents[here.size - 1] >= end;
            const std::size_t from = here.documents[0] < start ? place(here, start) : 0;
            const std::size_t to = is_last ? place(here, end) : here.size;
            if (to > from) take(here.documents.data() + from, here.counts.data() + from, to - from);
            if (is_last) return;
        }
    }

  private:
    static constexpr std::size_t kNoBlock = std::numeric_limits<std::size_t>::max();
    Postings postings_;
    std::size_t blocks_, block_ = 0, unpacked_ = kNoBlock;
    std::uint32_t last_ = 0;  // document of all
    Unpacked data_;
};

}  // namespace pippin
