#include "index_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <ranges>

#include "index_norm.hpp"
#include "index_reader.hpp"

namespace pippin {
namespace {

constexpr std::size_t kFrequent = 16;  // a word of one document of so many is frequent
constexpr std::size_t kPostings = 16;  // for each wanted document, from which on a frequent word is left to the end
constexpr std::uint8_t kMany = 255;    // a count that is looked up in the postings
constexpr std::size_t kWindow = 4096;  // documents that are looked through together
constexpr std::size_t kWorth = 4;      // a word with fewer postings than one for so many sums is added without a thought
constexpr std::size_t kLeap = 128;     // with fewer candidates than one for so many postings, candidates are searched for
constexpr std::size_t kPlaces = 16;    // of the collection that a sample is taken from,
constexpr std::size_t kSample = 128;   // so many documents from each
constexpr double kSlack = 1e-9;        // far above the rounding of a few sums, far below any difference that matters
constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kEmpty = -0.0;        // the sum of no addition: no addition gives it, and every addition replaces it

bool is_frequent(std::size_t postings, std::size_t documents) { return kFrequent * postings >= documents; }

bool is_empty(double sum) { return std::bit_cast<std::uint64_t>(sum) == std::bit_cast<std::uint64_t>(kEmpty); }

// One word of a query: its postings and how much it can add.
struct Word : Reader {
    explicit Word(const Asked& asked) : Reader(asked.postings), counts(asked.counts) {}

    std::span<const std::uint8_t> counts;  // in every document, if known
    std::vector<std::uint8_t> own;         // the same, if they were unpacked for this query
    double weight = 0;                     // idf·(k1 + 1)
    double shortest = 0;                   // no document that holds the word is shorter
    double bound = 0;                      // no document gets more from this word; 0 for a word that only takes away
    double loss = 0;                       // no document loses more by it; 0 for a word that adds
};

// A sum for every document, all empty between two queries: what a query touched is emptied when it ends.
class Sums {
  public:
    explicit Sums(std::size_t documents) {
        thread_local std::vector<double> kept;
        if (kept.size() < documents) kept.assign(documents, kEmpty);
        of = kept.data();
    }
    Sums(const Sums&) = delete;
    Sums& operator=(const Sums&) = delete;
    ~Sums() {
        for (const std::uint32_t document : touched) of[document] = kEmpty;
    }

    double* of;
    std::vector<std::uint32_t> touched;
};

// Which counts of a frequent word a document must have to come among the best.
struct Limit {
    std::uint8_t enough = kMany;  // of a word that adds: so often
    std::uint8_t beside = 0;      // of a word that takes away: not more often in a document that holds one which adds,
    std::uint8_t alone = 0;       // nor in another one
};

class Query {
  public:
    Query(Lengths lengths, std::span<const Asked> words, Bm25 bm25)
        : lengths_(lengths.of),
          longest_(lengths.longest),
          norm_{bm25.k1 * (1 - bm25.b), lengths.average > 0 ? bm25.k1 * bm25.b / lengths.average : 0} {
        const double n = static_cast<double>(lengths_.size());
        words_.reserve(words.size());
        for (const Asked& asked : words) {
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

    std::vector<Hit> top(std::size_t n, std::span<const std::uint32_t> ranks) {
        if (n == 0 || words_.empty()) return {};
        wanted_ = std::min(n, lengths_.size());
        ranks_ = ranks;
        Best best(wanted_, lengths_.size());
        by_word(best);
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

    // What a block adds to its documents.
    void work_out(const Word& word, const Unpacked& block) {
        norm_.additions(word.weight, block.counts.data(), block.documents.data(), lengths_.data(), block.size, added_.data());
    }

    // Sums word after word, the one that can add most first, for all documents that hold it, until no other document can
    // come among the best or only frequent words are left; from there on only for the documents that have a sum and can
    // still come among the best. Where others can as well, which hold frequent words alone, these are looked through.
    void by_word(Best& best) {
        Sums sums(lengths_.size());
        std::vector<double> rest(words_.size() + 1, 0.0), loss(words_.size() + 1, 0.0);
        std::size_t frequent = words_.size();  // words from there on are
        for (std::size_t w = words_.size(); w-- > 0;) {
            rest[w] = rest[w + 1] + words_[w].bound;
            loss[w] = loss[w + 1] + words_[w].loss;
            const std::size_t size = words_[w].postings().size();
            const bool is_common = is_frequent(size, lengths_.size()) && size >= kPostings * wanted_;
            if (frequent == w + 1 && is_common) frequent = w;
        }
        double least = kNever;  // as many documents as are wanted reach it
        bool is_over = false;
        std::size_t w = 0;
        for (; w < words_.size() && !is_over; ++w) {
            const std::size_t found = sums.touched.size();
            if (found >= wanted_ && kWorth * words_[w].postings().size() > found) {
                least = std::max(least, reached(sums, sums.touched, least - loss[w]) + loss[w]);
                is_over = rest[w] < least;
            }
            if (is_over || w == frequent) break;
            add(words_[w], sums);
        }
        candidates_ = sums.touched;
        for (std::size_t other = w; other < words_.size(); ++other) {
            keep(sums, least - rest[other]);
            add_to_candidates(words_[other], sums);
        }
        least = std::max(least, reached(sums, candidates_, least));
        for (const std::uint32_t document : candidates_)
            if (sums.of[document] >= least) best.add({sums.of[document], ranks_[document], document});
        if (!is_over && w < words_.size()) by_window(best, sums, std::span(words_).subspan(w));
    }

    // The lowest of as many of the highest sums as are wanted; `least` if fewer reach that.
    double reached(const Sums& sums, const std::vector<std::uint32_t>& documents, double least) {
        room_.clear();
        for (const std::uint32_t document : documents)
            if (sums.of[document] >= least) room_.push_back(sums.of[document]);
        if (room_.size() < wanted_) return least;
        const auto nth = room_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
        std::nth_element(room_.begin(), nth, room_.end(), std::greater<>());
        return *nth;
    }

    // Adds a word to all documents that hold it.
    void add(Word& word, Sums& sums) {
        std::size_t size = sums.touched.size();
        sums.touched.resize(size + word.postings().size());
        std::uint32_t* const touched = sums.touched.data();
        for (std::size_t b = 0; b < word.blocks(); ++b) {
            const Unpacked& block = word.unpack(b);
            work_out(word, block);
            for (std::size_t i = 0; i < block.size; ++i) {
                const std::uint32_t document = block.documents[i];
                const double sum = sums.of[document];
                touched[size] = document;
                size += is_empty(sum);
                sums.of[document] = sum + added_[i];
            }
        }
        sums.touched.resize(size);
    }

    void keep(const Sums& sums, double least) {
        std::erase_if(candidates_, [&](std::uint32_t document) { return sums.of[document] < least; });
    }

    // Adds a word to the candidates: by its counts if they are known, by all its postings, or by looking for each.
    void add_to_candidates(Word& word, Sums& sums) {
        if (!word.counts.empty()) {
            for (const std::uint32_t document : candidates_) {
                const std::uint32_t count = count_of(word, document);
                if (count > 0) sums.of[document] += exact(word, count, document);
            }
        } else if (kLeap * candidates_.size() < word.postings().size()) {
            std::sort(candidates_.begin(), candidates_.end());
            for (const std::uint32_t document : candidates_)
                if (const std::uint32_t count = word.count(document)) sums.of[document] += exact(word, count, document);
        } else {
            for (std::size_t b = 0; b < word.blocks(); ++b) {
                const Unpacked& block = word.unpack(b);
                work_out(word, block);
                for (std::size_t i = 0; i < block.size; ++i) {
                    double& sum = sums.of[block.documents[i]];
                    sum = is_empty(sum) ? sum : sum + added_[i];
                }
            }
        }
    }

    // Goes through the documents that have no sum yet, which hold none but these words, a window of them after the other.
    // Their counts tell how much a document gets at most, byte by byte and sixteen at a time, so that few are scored.
    void by_window(Best& best, const Sums& sums, std::span<Word> words) {
        for (Word& word : words)
            if (word.counts.empty()) word.counts = word.own = frequent_counts(word.postings(), lengths_.size());
        best.forget_worse();
        const double guess = best.least() == kNever || wanted_ > kSample ? guess_least(words, sums) : kNever;
        if (guess <= best.least() || !look_through(best, sums, words, guess)) look_through(best, sums, words, kNever);
    }

    // Looks through all documents for those that reach `least`; whether as many as are wanted do.
    bool look_through(Best& best, const Sums& sums, std::span<Word> words, double least) {
        Best found = best;
        const auto lowest = [&] { return std::max(least, found.least()); };
        double before = lowest();
        for (std::size_t start = 0; start < lengths_.size(); start += kWindow) {
            if (start == 0 || lowest() > before)
                if (!limit(words, before = lowest())) break;
            const auto first = static_cast<std::uint32_t>(start);
            select(words, sums, first, std::min(kWindow, lengths_.size() - start));
            score_candidates(words);
            for (std::size_t i = 0; i < candidates_.size(); ++i)
                if (room_[i] >= lowest()) found.add({room_[i], ranks_[candidates_[i]], candidates_[i]});
        }
        found.forget_worse();
        if (found.least() < least) return false;
        best = std::move(found);
        return true;
    }

    // A score that hardly more documents reach than are wanted, judged by a sample.
    double guess_least(std::span<Word> words, const Sums& sums) {
        const std::size_t documents = lengths_.size(), size = std::min(documents / kPlaces, kSample);
        candidates_.clear();
        for (std::size_t place = 0; place < kPlaces; ++place)
            for (std::size_t i = 0; i < size; ++i)
                candidates_.push_back(static_cast<std::uint32_t>(documents / kPlaces * place + i));
        score_candidates(words);
        for (std::size_t i = 0; i < candidates_.size(); ++i)
            if (!is_empty(sums.of[candidates_[i]])) room_[i] = sums.of[candidates_[i]];
        std::erase_if(room_, is_empty);
        const double share = static_cast<double>(wanted_) * static_cast<double>(candidates_.size()) / static_cast<double>(documents);
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
                limits_.push_back({.enough = static_cast<std::uint8_t>(*std::ranges::partition_point(counts, adds_little))});
            else
                limits_.push_back({.beside = highest(most), .alone = highest(0)});
            is_any |= limits_.back().alone > 0;
        }
        return is_any;
    }

    // Makes the documents of a window that have no sum, hold a word and keep to the limits the candidates.
    void select(std::span<const Word> words, const Sums& sums, std::uint32_t start, std::size_t size) {
        std::array<std::uint8_t, kWindow> adds{}, holds{}, fits;
        fits.fill(1);
        for (std::size_t w = 0; w < words.size(); ++w) {  // those that add come first
            const std::uint8_t* const counts = words[w].counts.data() + start;
            const auto [enough, beside, alone] = limits_[w];
            if (words[w].weight > 0)
                for (std::size_t i = 0; i < size; ++i) adds[i] |= counts[i] >= enough;
            else
                for (std::size_t i = 0; i < size; ++i) {
                    holds[i] |= counts[i] > 0;
                    fits[i] &= counts[i] <= (adds[i] ? beside : alone);
                }
        }
        for (std::size_t i = 0; i < kWindow; ++i) fits[i] &= static_cast<std::uint8_t>(adds[i] | holds[i]);
        candidates_.resize(size);
        std::size_t found = 0;
        for (std::size_t i = 0; i < size; i += 8) {
            std::uint64_t eight;
            std::memcpy(&eight, fits.data() + i, sizeof eight);
            for (; eight != 0; eight &= eight - 1) {
                const std::size_t at = start + i + static_cast<std::size_t>(std::countr_zero(eight)) / 8;
                candidates_[found] = static_cast<std::uint32_t>(at);
                found += is_empty(sums.of[at]);
            }
        }
        candidates_.resize(found);
    }

    // The scores of the candidates, if they hold none but these words, into the room.
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

void bm25_scores(Lengths lengths, std::span<const Asked> words, Bm25 parameters, std::span<double> scores) {
    Query(lengths, words, parameters).all(scores);
}

std::vector<Hit> bm25_top(Lengths lengths, std::span<const Asked> words, Bm25 parameters, std::size_t n,
                          std::span<const std::uint32_t> ranks) {
    return Query(lengths, words, parameters).top(n, ranks);
}

void count_in(std::span<const Postings> words, std::span<const std::int64_t> numbers, std::span<double> counts) {
    for (std::size_t w = 0; w < words.size(); ++w) {
        Reader word(words[w]);
        for (std::size_t i = 0; i < numbers.size(); ++i)
            counts[w * numbers.size() + i] = number(word.count(static_cast<std::uint32_t>(numbers[i])));
    }
}

void find_texts(Bytes bytes, std::span<const std::int64_t> starts,
                std::span<const std::int32_t> lengths, std::span<const std::uint32_t> order,
                std::span<const std::string_view> wanted, std::span<std::int64_t> numbers) {
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
