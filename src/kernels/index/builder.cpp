#include "index/builder.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "index/postings.hpp"
#include "parallel.hpp"

namespace pippin {
namespace {

constexpr std::size_t kBlock = 256;  // documents
constexpr std::uint32_t kFresh = 0x80000000U;

// Adds to the tally of a document; `seen` keeps the terms in the order they are first met.
void tally_term(std::uint32_t term, std::uint32_t times, std::vector<std::uint32_t>& tally, std::vector<std::uint32_t>& seen) {
    if (tally[term] == 0) seen.push_back(term);
    tally[term] += times;
}

// Moves the tally of a document into the stream's part.
void settle(StreamPart& part, std::uint32_t length, std::vector<std::uint32_t>& tally, std::vector<std::uint32_t>& seen) {
    for (const std::uint32_t term : seen) {
        part.counts.push_back({term, tally[term]});
        tally[term] = 0;
    }
    part.lengths.push_back(length);
    part.uniques.push_back(static_cast<std::uint32_t>(seen.size()));
    seen.clear();
}

// Calls body(worker, first, last) on one thread per worker, each with its own part of [0, count).
template <typename Body>
void each_worker(std::size_t workers, std::size_t count, Body&& body) {
    parallel_blocks(static_cast<std::int64_t>(workers), static_cast<int>(workers), 1, [&](std::int64_t from, std::int64_t to) {
        for (auto w = static_cast<std::size_t>(from); w < static_cast<std::size_t>(to); ++w)
            body(w, count * w / workers, count * (w + 1) / workers);
    });
}

}  // namespace

void Indexer::read(std::span<const std::string_view> texts, int threads) {
    if (texts.size() % streams_) throw std::invalid_argument("every document has a text for every stream");
    const std::size_t stride = kBlock * streams_;
    batch_.clear();
    batch_.resize((texts.size() + stride - 1) / stride);
    parallel_blocks(static_cast<std::int64_t>(batch_.size()), threads, 1, [&](std::int64_t first, std::int64_t last) {
        for (auto b = static_cast<std::size_t>(first); b < static_cast<std::size_t>(last); ++b)
            read_block(texts.subspan(b * stride, std::min(stride, texts.size() - b * stride)), batch_[b]);
    });
    for (Block& block : batch_) {
        std::vector<std::uint32_t> numbers(block.fresh.size());
        for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = words_.add(block.fresh[i], hash_of(block.fresh[i]));
        if (!numbers.empty())
            for (std::uint32_t& token : block.tokens)
                if (token & kFresh) token = numbers[token ^ kFresh];
        block.fresh = Numbering();
    }
}

void Indexer::read_block(std::span<const std::string_view> texts, Block& block) const {
    std::string buffer;
    for (const std::string_view text : texts) {
        each_word(text, joined_, buffer, [&](std::string_view word, std::uint64_t hash) {
            const std::uint32_t known = words_.find(word, hash);
            block.tokens.push_back(known != kNone ? known : block.fresh.add(word, hash) | kFresh);
        });
        block.ends.push_back(static_cast<std::uint32_t>(block.tokens.size()));
    }
}

void Indexer::resolve(std::span<const std::string_view> terms) {
    if (terms.size() != words_.size() - first_new()) throw std::invalid_argument("one term for every new word");
    const bool first = term_of_.empty();
    for (const std::string_view term : terms) term_of_.push_back(term.empty() ? kNone : terms_.add(term, hash_of(term)));
    if (first) find_common();
}

// The most frequent words occur in the first batch; their terms get the short codes.
void Indexer::find_common() {
    std::vector<std::uint64_t> times(terms_.size());
    for (const Block& block : batch_)
        for (const std::uint32_t word : block.tokens)
            if (term_of_[word] != kNone) ++times[term_of_[word]];
    common_.resize(terms_.size());
    std::iota(common_.begin(), common_.end(), 0U);
    std::stable_sort(common_.begin(), common_.end(), [&](std::uint32_t a, std::uint32_t b) { return times[a] > times[b]; });
    code_of_.resize(common_.size());
    for (std::uint32_t code = 0; code < common_.size(); ++code) code_of_[common_[code]] = code;
}

void Indexer::count(int threads) {
    for (std::size_t p = last_parts_; p < parts_.size(); ++p)
        for (StreamPart& stream : parts_[p].streams)
            stream.tokens = {}, stream.sizes = {}, stream.lengths = {};  // handed out with last()
    last_parts_ = parts_.size();
    parts_.resize(last_parts_ + batch_.size());
    tallies_.resize(std::max<std::size_t>(1, static_cast<std::size_t>(threads)));
    each_worker(tallies_.size(), batch_.size(), [&](std::size_t worker, std::size_t first, std::size_t last) {
        tallies_[worker].resize(terms_.size());
        for (std::size_t b = first; b < last; ++b) parts_[last_parts_ + b] = count_block(batch_[b], tallies_[worker]);
    });
    for (std::size_t p = last_parts_; p < parts_.size(); ++p) {
        parts_[p].first_document = documents_;
        documents_ += static_cast<std::uint32_t>(parts_[p].streams[0].lengths.size());
        cut_ += parts_[p].cut;
        for (const std::size_t s : left_out_) parts_[p].streams[s].counts = {};
        for (std::size_t s = 0; s < all_streams(); ++s) {
            const StreamPart& stream = parts_[p].streams[s];
            held_ += stream.counts.size() * sizeof(TermCount) + stream.uniques.size() * sizeof(std::uint32_t);
        }
    }
    batch_.clear();
}

void Indexer::leave_out(std::size_t stream) {
    left_out_.push_back(stream);
    for (Part& part : parts_) {
        held_ -= part.streams[stream].counts.size() * sizeof(TermCount);
        part.streams[stream].counts = {};
    }
}

Indexer::Part Indexer::count_block(const Block& block, std::vector<std::uint32_t>& tally) const {
    Part part{0, std::vector<StreamPart>(all_streams())};
    std::vector<std::uint32_t> seen;
    const std::size_t documents = block.ends.size() / streams_;
    for (StreamPart& stream : part.streams) stream.counts.reserve(block.tokens.size());
    for (std::size_t d = 0; d < documents; ++d) count_document(block, d, part, tally, seen);
    for (StreamPart& stream : part.streams) stream.counts.shrink_to_fit();
    return part;
}

void Indexer::count_document(const Block& block, std::size_t document, Part& part, std::vector<std::uint32_t>& tally,
                             std::vector<std::uint32_t>& seen) const {
    bool cut = false;
    for (std::size_t s = 0; s < streams_; ++s) {
        const std::size_t text = document * streams_ + s;
        StreamPart& stream = part.streams[s];
        const std::size_t before = stream.tokens.size();
        std::uint32_t length = 0;
        for (std::uint32_t i = text ? block.ends[text - 1] : 0; i < block.ends[text]; ++i) {
            const std::uint32_t term = term_of_[block.tokens[i]];
            if (term == kNone) continue;
            if (length == limit_) {
                cut = true;
                break;
            }
            ++length;
            put_number(term < code_of_.size() ? code_of_[term] : term, stream.tokens);
            tally_term(term, 1, tally, seen);
        }
        stream.sizes.push_back(static_cast<std::uint32_t>(stream.tokens.size() - before));
        settle(stream, length, tally, seen);
    }
    part.cut += cut;
    for (std::size_t u = 0; u < unions_.size(); ++u) {
        std::uint32_t length = 0;
        for (const std::size_t member : unions_[u]) {
            const StreamPart& stream = part.streams[member];
            length += stream.lengths.back();
            for (std::size_t i = stream.counts.size() - stream.uniques.back(); i < stream.counts.size(); ++i)
                tally_term(stream.counts[i].term, stream.counts[i].count, tally, seen);
        }
        settle(part.streams[streams_ + u], length, tally, seen);
    }
}

Inverted Indexer::invert(std::size_t stream, int threads) const {
    if (std::ranges::find(left_out_, stream) != left_out_.end()) throw std::invalid_argument("this stream is left out");
    // Each worker counts a stretch of the parts, and writes it where those of the workers before it end.
    const auto workers = static_cast<std::size_t>(std::max(1, threads));
    std::vector<std::vector<std::uint32_t>> next(workers, std::vector<std::uint32_t>(terms_.size()));
    const auto each_count = [&](auto&& body) {
        each_worker(workers, parts_.size(), [&](std::size_t worker, std::size_t first, std::size_t last) {
            for (std::size_t p = first; p < last; ++p) {
                const StreamPart& part = parts_[p].streams[stream];
                std::size_t at = 0;
                for (std::size_t d = 0; d < part.uniques.size(); ++d)
                    for (const std::size_t end = at + part.uniques[d]; at < end; ++at)
                        body(next[worker], parts_[p].first_document + static_cast<std::uint32_t>(d), part.counts[at]);
            }
        });
    };
    each_count([](auto& sizes, std::uint32_t, const TermCount& entry) { ++sizes[entry.term]; });
    Inverted to;
    to.sizes.resize(terms_.size());
    std::uint64_t total = 0;
    for (std::uint32_t term = 0; term < terms_.size(); ++term) {
        const std::uint64_t before = total;
        for (auto& starts : next) {
            const std::uint32_t size = starts[term];
            starts[term] = static_cast<std::uint32_t>(total);
            total += size;
        }
        to.sizes[term] = static_cast<std::uint32_t>(total - before);
    }
    if (total > kNone) throw std::length_error("more than four thousand million postings in memory");
    to.documents.resize(total);
    to.counts.resize(total);
    each_count([&](auto& starts, std::uint32_t document, const TermCount& entry) {
        const std::uint32_t at = starts[entry.term]++;
        to.documents[at] = document;
        to.counts[at] = entry.count;
    });
    return to;
}

void Indexer::forget() {
    parts_.clear();
    last_parts_ = 0;
    held_ = 0;
}

void place(std::span<const std::uint32_t> sizes, std::span<const std::uint32_t> documents,
           std::span<const std::uint32_t> counts, std::span<std::int64_t> cursor, std::span<std::uint32_t> to_documents,
           std::span<std::uint32_t> to_counts) {
    std::size_t from = 0;
    for (std::size_t term = 0; term < sizes.size(); ++term) {
        const auto at = static_cast<std::size_t>(cursor[term]);
        const std::size_t size = sizes[term];
        if (from + size > documents.size() || at + size > to_documents.size())
            throw std::invalid_argument("a run does not hold what it says");
        std::ranges::copy(documents.subspan(from, size), to_documents.begin() + static_cast<std::ptrdiff_t>(at));
        std::ranges::copy(counts.subspan(from, size), to_counts.begin() + static_cast<std::ptrdiff_t>(at));
        cursor[term] += static_cast<std::int64_t>(size);
        from += size;
    }
}

Packed pack(std::span<const std::uint32_t> sizes, std::span<const std::uint32_t> documents,
            std::span<const std::uint32_t> counts, std::span<const std::uint32_t> lengths, int threads) {
    const std::size_t terms = sizes.size(), workers = static_cast<std::size_t>(std::max(1, threads));
    // Each worker gets about the same number of postings and writes after the previous worker's part.
    std::vector<std::size_t> starts(terms + 1, 0), cuts(workers + 1, terms);
    for (std::size_t term = 0; term < terms; ++term) starts[term + 1] = starts[term] + sizes[term];
    if (starts[terms] != documents.size() || counts.size() != documents.size())
        throw std::invalid_argument("sizes and postings do not fit together");
    for (std::size_t w = 0; w < workers; ++w)
        cuts[w] = static_cast<std::size_t>(std::lower_bound(starts.begin(), starts.end() - 1, documents.size() * w / workers) -
                                           starts.begin());
    cuts[0] = 0;
    Packed packed{{}, std::vector<std::int64_t>(terms), std::vector<std::uint64_t>(terms)};
    std::vector<std::vector<std::uint8_t>> parts(workers);
    each_worker(workers, workers, [&](std::size_t, std::size_t first, std::size_t last) {
        for (std::size_t w = first; w < last; ++w)
            for (std::size_t term = cuts[w]; term < cuts[w + 1]; ++term) {
                const std::size_t before = parts[w].size();
                const auto count = counts.subspan(starts[term], sizes[term]);
                pack_postings(documents.subspan(starts[term], sizes[term]), count, lengths, parts[w]);
                packed.sizes[term] = static_cast<std::int64_t>(parts[w].size() - before);
                packed.occurrences[term] = std::accumulate(count.begin(), count.end(), std::uint64_t{0});
            }
    });
    for (auto& part : parts) {
        packed.bytes.insert(packed.bytes.end(), part.begin(), part.end());
        part = {};
    }
    return packed;
}

}  // namespace pippin
