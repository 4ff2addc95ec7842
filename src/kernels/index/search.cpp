#include "index/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <ranges>

#include "index/bm25_limits.hpp"
#include "index/bm25_norm.hpp"
#include "index/postings_reader.hpp"
#include "index/accumulators.hpp"

namespace pippin {
namespace {

constexpr std::size_t kFrequent = 16;  // a word is frequent if it occurs in at least one of this many documents
constexpr std::size_t kPostings = 16;  // postings per requested document from which on a frequent word is added last
constexpr std::size_t kFew = 8;        // documents per requested document (plus kFewer) in which a rare word may occur
constexpr std::size_t kFewer = 1024;   // to be scored alone for a first lower bound
constexpr std::size_t kLeap = 128;     // postings per candidate from which on candidates are looked up one by one
constexpr std::size_t kPlaces = 16;    // places of the collection from which a sample is taken
constexpr std::size_t kSample = 128;   // documents sampled at each place
constexpr double kSlack = 1e-9;        // far above the rounding of a few sums, far below any difference that matters
constexpr double kNever = -std::numeric_limits<double>::infinity();

bool is_frequent(std::size_t postings, std::size_t documents) { return kFrequent * postings >= documents; }

// One word of a query: its postings and how much it can add.
struct Word : Reader {
    explicit Word(const QueryTerm& asked) : Reader(asked.postings), counts(asked.counts) {}

    std::span<const std::uint8_t> counts;  // in every document, if known
    std::vector<std::uint8_t> own;         // the same, if they were unpacked for this query
    double weight = 0;                     // idf·(k1 + 1)
    double shortest = 0;                   // no document that holds the word is shorter
    double bound = 0;                      // no document gets more from this word; 0 for a word that only takes away
    double loss = 0;                       // no document loses more by it; 0 for a word that adds
};

class Query {
  public:
    Query(Lengths lengths, std::span<const QueryTerm> words, Bm25 bm25)
        : lengths_(lengths.of), longest_(lengths.longest),
          norm_{bm25.k1 * (1 - bm25.b), lengths.average > 0 ? bm25.k1 * bm25.b / lengths.average : 0} {
        const double n = static_cast<double>(lengths_.size());
        words_.reserve(words.size());
        for (const QueryTerm& asked : words) {
            if (asked.postings.size() == 0) continue;
            const double df = static_cast<double>(asked.postings.size());
            words_.emplace_back(asked);
            words_.back().weight = std::log((n - df + 0.5) / (df + 0.5)) * (bm25.k1 + 1);
            find_bounds(words_.back());
        }
        std::stable_sort(words_.begin(), words_.end(), [](const auto& x, const auto& y) { return x.bound > y.bound; });
    }

    void all(std::span<double> scores) {
        std::fill(scores.begin(), scores.end(), 0.0);
        for (Word& word : words_)
            for (std::size_t b = 0; b < word.blocks(); ++b) {
                const Unpacked& block = word.unpack(b);
                for (std::size_t i = 0; i < block.size; ++i) {
                    const std::uint32_t document = block.documents[i];
                    scores[document] += exact(word, block.counts[i], document);
                }
            }
    }

    std::vector<Hit> top(std::size_t n, std::span<const std::uint32_t> ranks, AccumulatorPool& pool) {
        if (n == 0 || words_.empty()) return {};
        wanted_ = std::min(n, lengths_.size());
        ranks_ = ranks;
        TopK best(wanted_, lengths_.size());
        by_range(best, pool);
        return std::move(best).in_order();
    }

  private:
    double exact(const Word& word, std::uint32_t count, std::uint32_t document) const {
        return norm_.addition(word.weight, number(count), number(lengths_[document]));
    }

    // How much a word can add or take away.
    void find_bounds(Word& word) const {
        std::uint32_t most = word.postings().most(), shortest = word.postings().full() ? word.postings().shortest() : kNone;
        if (word.blocks() > word.postings().full()) {
            const Unpacked& rest = word.unpack(word.postings().full());
            for (std::size_t i = 0; i < rest.size; ++i) {
                most = std::max(most, rest.counts[i]);
                shortest = std::min(shortest, lengths_[rest.documents[i]]);
            }
        }
        word.shortest = number(shortest);
        const double largest = norm_.addition(word.weight, number(most), word.shortest) * (1 + kSlack);
        word.bound = std::max(0.0, largest);
        word.loss = std::min(0.0, largest);
    }

    // Adds the contributions of one block to its documents.
    void work_out(const Word& word, const Unpacked& block) {
        norm_.additions(word.weight, block.counts.data(), block.documents.data(), lengths_.data(), block.size, added_.data());
    }

    // Processes the documents range by range. The words are added one by one, the one with the largest bound first, to
    // all documents that contain it, until no new document can reach the top k or only frequent words remain. From then
    // on only the candidates that can still reach the top k are scored. If documents that contain only frequent words
    // can reach it as well, they are scanned at the end.
    void by_range(TopK& best, AccumulatorPool& pool) {
        std::vector<double> rest(words_.size() + 1, 0.0);
        std::size_t frequent = words_.size();  // words from there on are
        for (std::size_t w = words_.size(); w-- > 0;) {
            rest[w] = rest[w + 1] + words_[w].bound;
            const std::size_t size = words_[w].postings().size();
            const bool is_common = is_frequent(size, lengths_.size()) && size >= kPostings * wanted_;
            if (frequent == w + 1 && is_common) frequent = w;
        }
        const bool is_mixed = frequent < words_.size();
        Seen seen(is_mixed ? lengths_.size() : 0);
        Accumulators sums(pool);
        double least = floor();  // as many documents as are wanted reach it
        for (std::size_t start = 0; start < lengths_.size() && frequent > 0; start += kRange) {
            const auto first = static_cast<std::uint32_t>(start);
            const auto end = static_cast<std::uint32_t>(std::min(start + kRange, lengths_.size()));
            std::size_t w = 0;
            for (; w < frequent && rest[w] >= least; ++w) add(words_[w], sums, first, end, least - rest[w + 1]);
            candidates_.assign(sums.chosen().begin(), sums.chosen().end());
            for (std::size_t other = w; other < words_.size(); ++other) {
                keep(sums, least - rest[other]);
                add_to_candidates(words_[other], sums, first, end);
            }
            for (const std::uint32_t document : candidates_)
                if (sums[document] >= least) best.add({sums[document], ranks_[document], document});
            if (is_mixed && w == frequent)
                for (const std::uint32_t document : sums.touched()) seen.add(document);
            sums.clear();
            least = std::max(least, best.least());
        }
        if (!is_mixed) return;
        best.forget_worse();
        if (rest[frequent] >= std::max(least, best.least())) by_window(best, seen, std::span(words_).subspan(frequent));
    }

    // Returns a score that at least k documents reach, computed from one rare word.
    double floor() {
        double loss = 0;
        for (const Word& word : words_) loss += word.loss;
        const auto is_fit = [&](const Word& word) {
            return word.postings().size() >= wanted_ && word.postings().size() <= kFew * wanted_ + kFewer;
        };
        const auto word = std::ranges::find_if(words_, is_fit);
        if (word == words_.end()) return kNever;
        room_.clear();
        for (std::size_t b = 0; b < word->blocks(); ++b) {
            const Unpacked& block = word->unpack(b);
            work_out(*word, block);
            room_.insert(room_.end(), added_.begin(), added_.begin() + static_cast<std::ptrdiff_t>(block.size));
        }
        const auto nth = room_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
        std::nth_element(room_.begin(), nth, room_.end(), std::greater<>());
        return *nth + loss;
    }

    // Adds a word to all documents of a range that contain it; see `Accumulators::add` for the choice of candidates.
    void add(Word& word, Accumulators& sums, std::uint32_t start, std::uint32_t end, double least) {
        word.each_piece(start, end, [&](const std::uint32_t* documents, const std::uint32_t* counts, std::size_t size) {
            norm_.additions(word.weight, counts, documents, lengths_.data(), size, added_.data());
            sums.add(documents, added_.data(), size, least);
        });
    }

    void keep(Accumulators& sums, double least) {
        std::erase_if(candidates_, [&](std::uint32_t document) { return sums[document] < least; });
    }

    // Adds a word to the candidates of a range: by its counts if they are known, by all its postings, or by looking for each.
    void add_to_candidates(Word& word, Accumulators& sums, std::uint32_t start, std::uint32_t end) {
        if (candidates_.empty()) return;
        if (!word.counts.empty()) {
            for (std::size_t from = 0; from < candidates_.size(); from += kPacked)
                add_held(word, sums, candidates_.data() + from, std::min(kPacked, candidates_.size() - from),
                         [&](std::size_t i) { return count_of(word, candidates_[from + i]); });
        } else if (kLeap * candidates_.size() * (lengths_.size() / kRange + 1) < word.postings().size()) {
            std::sort(candidates_.begin(), candidates_.end());
            for (const std::uint32_t document : candidates_)
                if (const std::uint32_t count = word.count(document)) sums[document] += exact(word, count, document);
        } else {
            word.each_piece(start, end, [&](const std::uint32_t* documents, const std::uint32_t* counts, std::size_t count) {
                add_held(word, sums, documents, count,
                         [&](std::size_t i) { return is_empty(sums[documents[i]]) ? 0 : counts[i]; });
            });
        }
    }

    // Adds a word to those of at most 128 documents for which there is a count.
    template <typename Count>
    void add_held(const Word& word, Accumulators& sums, const std::uint32_t* documents, std::size_t size, Count&& count) {
        std::array<std::uint32_t, kPacked> held, counts;
        std::size_t found = 0;
        for (std::size_t i = 0; i < size; ++i) {
            held[found] = documents[i], counts[found] = count(i);
            found += counts[found] > 0;
        }
        norm_.additions(word.weight, counts.data(), held.data(), lengths_.data(), found, added_.data());
        for (std::size_t i = 0; i < found; ++i) sums[held[i]] += added_[i];
    }

    // Scans the documents without a sum, which contain only these words, window by window. Their counts, compared 16 at
    // a time, bound the score, so that few documents are scored.
    void by_window(TopK& best, const Seen& seen, std::span<Word> words) {
        for (Word& word : words)
            if (word.counts.empty()) word.counts = word.own = frequent_counts(word.postings(), lengths_.size());
        best.forget_worse();
        const double guess = best.least() == kNever || wanted_ > kSample ? guess_least(words, seen) : kNever;
        if (guess <= best.least() || !look_through(best, seen, words, guess)) look_through(best, seen, words, kNever);
    }

    // Scans all documents for those that reach `least`; returns whether at least k do.
    bool look_through(TopK& best, const Seen& seen, std::span<Word> words, double least) {
        TopK found = best;
        const auto lowest = [&] { return std::max(least, found.least()); };
        double before = lowest();
        for (std::size_t start = 0; start < lengths_.size(); start += kWindow) {
            if (start == 0 || lowest() > before)
                if (!limit(words, before = lowest())) break;
            const auto first = static_cast<std::uint32_t>(start);
            select(words, seen, first, std::min(kWindow, lengths_.size() - start));
            score_candidates(words);
            for (std::size_t i = 0; i < candidates_.size(); ++i)
                if (room_[i] >= lowest()) found.add({room_[i], ranks_[candidates_[i]], candidates_[i]});
        }
        found.forget_worse();
        if (found.least() < least) return false;
        best = std::move(found);
        return true;
    }

    // Estimates, from a sample, a score that slightly more than k documents reach.
    double guess_least(std::span<Word> words, const Seen& seen) {
        const std::size_t documents = lengths_.size(), size = std::min(documents / kPlaces, kSample);
        candidates_.clear();
        for (std::size_t place = 0; place < kPlaces; ++place)
            for (std::size_t i = 0; i < size; ++i)
                candidates_.push_back(static_cast<std::uint32_t>(documents / kPlaces * place + i));
        score_candidates(words);
        for (std::size_t i = 0; i < candidates_.size(); ++i)
            if (seen.holds(candidates_[i])) room_[i] = kEmpty;
        std::erase_if(room_, is_empty);
        const double share =
            static_cast<double>(wanted_) * static_cast<double>(candidates_.size()) / static_cast<double>(documents);
        const auto rank = static_cast<std::size_t>(share + 2.5 * std::sqrt(share) + 2);
        if (rank > room_.size()) return kNever;
        const auto nth = room_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
        std::nth_element(room_.begin(), nth, room_.end(), std::greater<>());
        return *nth;
    }

    // Finds which counts a document must have to reach `least`; false if none would do.
    bool limit(std::span<const Word> words, double least) {
        double most = 0, adding = 0;
        for (const Word& word : words) most += word.bound, adding += word.weight > 0;
        const auto counts = std::views::iota(std::uint32_t{1}, std::uint32_t{kMany});
        bool is_any = most >= least && adding > 0;
        limits_.clear();
        for (const Word& word : words) {
            const auto adds_little = [&](std::uint32_t count) {  // less than its share from each is too little from all
                return norm_.addition(word.weight, number(count), word.shortest) * (1 + kSlack) < least / adding;
            };
            const auto highest = [&](double others) {
                const auto takes_little = [&](std::uint32_t count) {
                    return others + norm_.addition(word.weight, number(count), longest_) * (1 - kSlack) >= least;
                };
                const std::uint32_t beyond = *std::ranges::partition_point(counts, takes_little);
                return static_cast<std::uint8_t>(beyond == kMany ? kMany : beyond - 1);
            };
            if (word.weight > 0)
                limits_.push_back({.enough = static_cast<std::uint8_t>(*std::ranges::partition_point(counts, adds_little)),
                                   .is_adding = true});
            else limits_.push_back({.beside = highest(most), .alone = highest(0)});
            is_any |= limits_.back().alone > 0;
        }
        return is_any;
    }

    // Makes the documents of a window without a sum that contain a word and are within the limits candidates.
    void select(std::span<const Word> words, const Seen& seen, std::uint32_t start, std::size_t size) {
        std::array<std::uint8_t, kWindow> fits{};  // what is beyond the documents does not fit
        for (std::size_t w = 0; w < words.size(); ++w) limits_[w].counts = words[w].counts.data() + start;
        mark_fitting(limits_, size, fits.data());
        candidates_.resize(size);
        std::size_t found = 0;
        for (std::size_t i = 0; i < size; i += 8) {
            std::uint64_t eight;
            std::memcpy(&eight, fits.data() + i, sizeof eight);
            for (; eight != 0; eight &= eight - 1) {
                const std::size_t at = start + i + static_cast<std::size_t>(std::countr_zero(eight)) / 8;
                candidates_[found] = static_cast<std::uint32_t>(at);
                found += !seen.holds(at);
            }
        }
        candidates_.resize(found);
    }

    // The scores of the candidates, if they contain only these words, into the buffer.
    void score_candidates(std::span<Word> words) {
        room_.assign(candidates_.size(), kEmpty);
        std::array<std::uint32_t, kPacked> counts;
        for (Word& word : words)
            for (std::size_t first = 0; first < candidates_.size(); first += kPacked) {
                const std::size_t size = std::min(kPacked, candidates_.size() - first);
                const std::uint32_t* const documents = candidates_.data() + first;
                std::uint32_t most = 0;
                for (std::size_t i = 0; i < size; ++i) most = std::max(most, counts[i] = word.counts[documents[i]]);
                for (std::size_t i = 0; i < size && most == kMany; ++i) counts[i] = count_of(word, documents[i]);
                norm_.additions(word.weight, counts.data(), documents, lengths_.data(), size, added_.data());
                for (std::size_t i = 0; i < size; ++i) room_[first + i] += counts[i] > 0 ? added_[i] : kEmpty;
            }
    }

    static std::uint32_t count_of(Word& word, std::uint32_t document) {
        const std::uint32_t count = word.counts[document];
        return count == kMany ? word.count(document) : count;
    }

    std::vector<Word> words_;  // by falling bound
    std::span<const std::uint32_t> lengths_;
    double longest_;
    Norm norm_;
    std::span<const std::uint32_t> ranks_;
    std::array<double, kPacked> added_;      // by a block to its documents
    std::vector<std::uint32_t> candidates_;  // documents that can still come among the best
    std::vector<double> room_;
    std::vector<Limit> limits_;              // of the words that are left in a window
    std::size_t wanted_ = 0;
};

}  // namespace

std::vector<std::uint8_t> frequent_counts(const Postings& postings, std::size_t documents) {
    if (postings.size() == 0 || !is_frequent(postings.size(), documents)) return {};
    std::vector<std::uint8_t> counts(documents, 0);
    Unpacked block;
    for (std::size_t b = 0; b < postings.blocks(); ++b) {
        postings.unpack(b, block);
        for (std::size_t i = 0; i < block.size; ++i)
            counts[block.documents[i]] = static_cast<std::uint8_t>(std::min<std::uint32_t>(block.counts[i], kMany));
    }
    return counts;
}

void bm25_scores(Lengths lengths, std::span<const QueryTerm> words, Bm25 parameters, std::span<double> scores) {
    Query(lengths, words, parameters).all(scores);
}

std::vector<Hit> bm25_top(Lengths lengths, std::span<const QueryTerm> words, Bm25 parameters, std::size_t n,
                          std::span<const std::uint32_t> ranks, AccumulatorPool& pool) {
    return Query(lengths, words, parameters).top(n, ranks, pool);
}

void count_in(std::span<const QueryTerm> words, std::span<const std::int64_t> numbers, std::span<double> counts) {
    for (const QueryTerm& word : words) {
        Reader postings(word.postings);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto document = static_cast<std::size_t>(numbers[i]);
            const std::uint8_t known = document < word.counts.size() ? word.counts[document] : kMany;
            counts[i] = number(known < kMany ? known : postings.count(static_cast<std::uint32_t>(document)));
        }
        counts = counts.subspan(numbers.size());
    }
}

void find_texts(Bytes bytes, std::span<const std::int64_t> starts, std::span<const std::int32_t> lengths,
                std::span<const std::uint32_t> order, std::span<const std::string_view> wanted,
                std::span<std::int64_t> numbers) {
    const auto text = [&](std::uint32_t number) {
        if (number >= starts.size() || starts[number] < 0 || lengths[number] < 0 ||
            starts[number] > static_cast<std::int64_t>(bytes.size()) - lengths[number])
            damaged();
        return std::string_view(reinterpret_cast<const char*>(bytes.data()) + starts[number],
                                static_cast<std::size_t>(lengths[number]));
    };
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto before = [&](std::uint32_t number, std::string_view value) { return text(number) < value; };
        const auto found = std::lower_bound(order.begin(), order.end(), wanted[i], before);
        numbers[i] = found != order.end() && text(*found) == wanted[i] ? static_cast<std::int64_t>(*found) : -1;
    }
}

}  // namespace pippin
