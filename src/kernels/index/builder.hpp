// Builds inverted lists: tokenizes texts, counts terms per document, and inverts the counts.
//
// A batch of documents goes through three steps. read() tokenizes and numbers new words; resolve() maps each new word
// to its term (the caller handles stems and stop words, once per word); count() counts terms. The counted documents
// stay in memory until invert() returns them by term. Documents are processed in blocks of a fixed size, so that the
// bytes do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "index/tokenizer.hpp"

namespace pippin {

struct TermCount {
    std::uint32_t term;
    std::uint32_t count;
};

// The content of one stream for a few documents.
struct StreamPart {
    std::vector<std::uint8_t> tokens;      // codes of terms in order, varbyte; empty for unions
    std::vector<std::uint32_t> sizes;      // number of these bytes per document
    std::vector<TermCount> counts;         // document after document
    std::vector<std::uint32_t> lengths;    // per document
    std::vector<std::uint32_t> uniques;
};

// The inverted lists of the documents in memory: counts[t] postings of term t, documents ascending.
struct Inverted {
    std::vector<std::uint32_t> sizes;
    std::vector<std::uint32_t> documents;
    std::vector<std::uint32_t> counts;
};

class Indexer {
  public:
    // Unions name the streams whose words they hold; `limit` is the number of tokens kept of a text.
    Indexer(std::size_t streams, std::vector<std::vector<std::size_t>> unions, bool joined, std::uint32_t limit)
        : streams_(streams), unions_(std::move(unions)), joined_(joined), limit_(limit) {}

    // Texts are those of the first document, stream by stream, then those of the second …
    void read(std::span<const std::string_view> texts, int threads);
    // The words that read() has met for the first time, as numbers from first_new() to words().size().
    const Numbering& words() const { return words_; }
    std::uint32_t first_new() const { return static_cast<std::uint32_t>(term_of_.size()); }
    // The terms of the new words, in order; an empty one: the word is left out.
    void resolve(std::span<const std::string_view> terms);
    void count(int threads);
    // Discards the counts of a stream that will not be inverted.
    void leave_out(std::size_t stream);

    const Numbering& terms() const { return terms_; }
    std::size_t all_streams() const { return streams_ + unions_.size(); }
    std::uint64_t cut() const { return cut_; }              // documents that had more tokens than the limit
    std::uint64_t held() const { return held_; }            // bytes of counted documents
    // The terms of the first batch, the most frequent first: the code of such a term is its position here, of other
    // terms their number.
    const std::vector<std::uint32_t>& common() const { return common_; }
    // The tokens, sizes, lengths and uniques of a stream in the batch counted last.
    template <typename T>
    std::vector<T> last(std::size_t stream, std::vector<T> StreamPart::* column) const {
        std::vector<T> joined;
        for (std::size_t p = last_parts_; p < parts_.size(); ++p) {
            const auto& values = parts_[p].streams[stream].*column;
            joined.insert(joined.end(), values.begin(), values.end());
        }
        return joined;
    }
    // The posting lists of the documents in memory.
    Inverted invert(std::size_t stream, int threads) const;
    void forget();

  private:
    struct Block {
        std::vector<std::uint32_t> tokens;  // number of a word, or of one in `fresh` with the highest bit set
        std::vector<std::uint32_t> ends;    // per text
        Numbering fresh;
    };
    struct Part {
        std::uint32_t first_document;
        std::vector<StreamPart> streams;
        std::uint64_t cut = 0;
    };
    void read_block(std::span<const std::string_view> texts, Block& block) const;
    Part count_block(const Block& block, std::vector<std::uint32_t>& tally) const;
    void find_common();
    void count_document(const Block& block, std::size_t document, Part& part, std::vector<std::uint32_t>& tally,
                        std::vector<std::uint32_t>& seen) const;

    std::size_t streams_;
    std::vector<std::vector<std::size_t>> unions_;
    bool joined_;
    std::uint32_t limit_;
    Numbering words_, terms_;
    std::vector<std::uint32_t> term_of_;  // of each word, kNone if it is left out
    std::vector<std::uint32_t> common_, code_of_;
    std::vector<Block> batch_;
    std::vector<Part> parts_;
    std::vector<std::vector<std::uint32_t>> tallies_;  // one per thread, all 0 between documents
    std::vector<std::size_t> left_out_;
    std::size_t last_parts_ = 0;  // where the batch counted last begins
    std::uint32_t documents_ = 0;
    std::uint64_t cut_ = 0, held_ = 0;
};

// Appends a part of an inverted file: sizes[t] postings go to cursor[t], which moves on.
void place(std::span<const std::uint32_t> sizes, std::span<const std::uint32_t> documents,
           std::span<const std::uint32_t> counts, std::span<std::int64_t> cursor, std::span<std::uint32_t> to_documents,
           std::span<std::uint32_t> to_counts);

// Terms in their stored form: all bytes, the number of bytes of each term, and its number of occurrences.
struct Packed {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> sizes;
    std::vector<std::uint64_t> occurrences;
};
Packed pack(std::span<const std::uint32_t> sizes, std::span<const std::uint32_t> documents,
            std::span<const std::uint32_t> counts, std::span<const std::uint32_t> lengths, int threads);

}  // namespace pippin
