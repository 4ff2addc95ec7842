#include "index_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace pippin {
namespace {

constexpr std::size_t kWindow = 8192;  // documents summed together; their sums stay in the nearest caches
constexpr std::size_t kStripe = 64;    // documents of a window that are cleared together
constexpr std::size_t kGroup = 16;     // documents of a stripe that are looked through together
constexpr double kSlack = 1e-9;        // far above the rounding of a few sums, far below any difference that matters
constexpr double kCoarse = 5e-7;       // above the rounding of a few operations in single precision
constexpr std::size_t kSample = 32;    // one document of so many is scored first, to guess which scores matter,
constexpr std::size_t kPlaces = 16;    // at so many places of the collection
constexpr std::size_t kSearch = 10;    // candidates that are searched for in the time in which a block is summed
constexpr std::size_t kFew = 64;       // hits that are sorted as they are
constexpr std::size_t kFewer = 8;     // one document of so many has a sum: few
constexpr std::size_t kSpare = 8;     // hits beyond twice the wanted ones that are kept before the worse are forgotten
constexpr std::uint8_t kMany = 255;    // a count that is looked up when it is needed
constexpr std::size_t kNoBlock = std::numeric_limits<std::size_t>::max();

// Four numbers that are worked on at once: every 64-bit processor can, and no wider one is asked for.
using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));

constexpr float kEmpty = -0.0F;  // the sum of no addition: no addition gives it, and every addition replaces it

// The signs of four numbers, a bit each.
std::uint32_t signs(Ints four) {
#ifdef __SSE2__
    return static_cast<std::uint32_t>(_mm_movemask_ps(std::bit_cast<__m128>(four)));
#else
    const Ints bits = (four >> 31) & Ints{1, 2, 4, 8};
    return static_cast<std::uint32_t>(bits[0] | bits[1] | bits[2] | bits[3]);
#endif
}

// Which sums of a group reach `least`, a bit each; an empty sum reaches nothing.
std::uint32_t which_reach(const float* sums, float least) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < kGroup; i += 4) {
        Floats four;
        std::memcpy(&four, sums + i, sizeof four);
        const Ints empty = (four == 0) & std::bit_cast<Ints>(four);  // an empty sum is a zero with a sign
        found |= signs((four >= least) & ~empty) << i;
    }
    return found;
}

double number(std::uint32_t count) { return static_cast<double>(count); }

// What a document's length does to its counts: c/(c + k1(1 − b + b·length/average)), times the word's weight.
template <typename Real>
struct Norm {
    Real fixed, slope;

    // Of one document, or of several.
    template <typename Number>
    Number addition(Real weight, Number count, Number length) const {
        return weight * count / (count + (fixed + slope * length));
    }
};

// The place of the first document of a block not before `target`.
std::size_t place(const Unpacked& block, std::uint32_t target) {
    const std::uint32_t* found = block.documents.data();
    for (std::size_t size = block.size; size > 0;) {
        const std::size_t half = (size + 1) / 2;
        found += found[half - 1] < target ? half : 0;
        size -= half;
    }
    return static_cast<std::size_t>(found - block.documents.data());
}

// Goes through the postings of a word from the first to the last, unpacking only the blocks that are looked at.
class Reader {
  public:
    explicit Reader(const Postings& postings) : postings_(postings), blocks_(postings.blocks()) {
        if (blocks_ > postings_.full()) {
            unpack(postings_.full());
            last_ = data_.documents[data_.size - 1];
        }
    }

    std::size_t blocks() const { return blocks_; }
    std::size_t block() const { return block_; }
    const Postings& postings() const { return postings_; }
    std::uint32_t last(std::size_t block) const { return block < postings_.full() ? postings_.last(block) : last_; }
    // No document of a block comes before it.
    std::uint32_t first(std::size_t block) const { return block ? postings_.last(block - 1) + 1 : 0; }
    void restart() { block_ = 0; }

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

    // No document not before `start` that holds the word comes before this one.
    std::uint32_t next(std::uint32_t start) {
        advance(start);
        if (block_ == blocks_) return kNone;
        if (block_ != unpacked_ && block_ < postings_.full()) return std::max(start, first(block_));
        const Unpacked& here = unpack(block_);
        const std::size_t at = place(here, start);
        if (at == here.size) damaged();
        return here.documents[at];
    }

  private:
    Postings postings_;
    std::size_t blocks_, block_ = 0, unpacked_ = kNoBlock;
    std::uint32_t last_ = 0;  // document of all
    Unpacked data_;
};

// One word of a query: its postings and how much it can add.
struct Word : Reader {
    using Reader::Reader;
    double weight = 0;  // idf·(k1 + 1)
    double bound = 0;   // no document gets more from this word; 0 for a word that only takes away
    double size = 0;    // the largest addition without its sign
    double rest = 0;    // the bound of the block that is not full
    double here = 0;    // the bound of a window
};

constexpr Hit kAny{-std::numeric_limits<double>::infinity(), kNone, kNone};
constexpr auto kBetter = [](const Hit& a, const Hit& b) {
    return (a.score > b.score) | ((a.score == b.score) & (a.rank < b.rank));
};

// As many ranges of scores as there are hits, equally wide, from the best score to the worst.
class Ranges {
  public:
    explicit Ranges(std::span<const Hit> hits) {
        double worst = hits[0].score;
        for (const Hit& hit : hits) best_ = std::max(best_, hit.score), worst = std::min(worst, hit.score);
        last_ = static_cast<double>(hits.size() - 1);
        if (best_ > worst) scale_ = last_ / (best_ - worst);
    }

    // Never falls while scores fall, whatever is rounded. The infinite scores of a damaged index are in the last range.
    std::size_t of(const Hit& hit) const {
        const double range = (best_ - hit.score) * scale_;
        return static_cast<std::size_t>(static_cast<std::int64_t>(range < last_ ? range : last_));
    }

    // How many hits lie in better ranges, for every range.
    std::vector<std::size_t> starts(std::span<const Hit> hits) const {
        std::vector<std::size_t> found(hits.size() + 1, 0);
        for (const Hit& hit : hits) ++found[of(hit) + 1];
        for (std::size_t i = 1; i < found.size(); ++i) found[i] += found[i - 1];
        return found;
    }

  private:
    double best_ = kAny.score, last_ = 0, scale_ = 0;
};

// Sorts by ranks below `limit`, digit after digit.
void sort_by_rank(std::vector<Hit>& hits, std::size_t limit) {
    std::vector<Hit> dealt(hits.size());
    for (int shift = 0; shift < 32 && (limit - 1) >> shift > 0; shift += 8) {
        std::array<std::uint32_t, 257> starts{};
        const auto digit = [shift](const Hit& hit) { return hit.rank >> shift & 255; };
        for (const Hit& hit : hits) ++starts[digit(hit) + 1];
        for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
        for (const Hit& hit : hits) dealt[starts[digit(hit)]++] = hit;
        hits.swap(dealt);
    }
}

// Equal scores are mostly in order already.
void sort_unsorted(std::vector<Hit>::iterator first, std::vector<Hit>::iterator last) {
    if (!std::is_sorted(first, last, kBetter)) std::sort(first, last, kBetter);
}

class Query {
  public:
    Query(Lengths lengths, std::span<const Postings> words, Bm25 bm25)
        : lengths_(lengths.of),
          norm_{bm25.k1 * (1 - bm25.b), lengths.average > 0 ? bm25.k1 * bm25.b / lengths.average : 0},
          coarse_{static_cast<float>(norm_.fixed), static_cast<float>(norm_.slope)} {
        const double n = static_cast<double>(lengths_.size());
        words_.reserve(words.size());
        for (const Postings& postings : words) {
            if (postings.size() == 0) continue;
            const double df = static_cast<double>(postings.size());
            words_.emplace_back(postings);
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
        for (const Word& word : words_) slack_ += word.size;
        slack_ *= kCoarse * static_cast<double>(words_.size() + 8);
        rest_.resize(words_.size() + 1);
        by_bound_.resize(words_.size());
        all_words_.resize(words_.size());
        std::iota(all_words_.begin(), all_words_.end(), std::size_t{0});
        chosen_.assign(kWindow / 64, 0);
        sums_.assign(kWindow, kEmpty);
        counts_.assign(kWindow * words_.size(), 0);
        touched_.assign(kWindow / kStripe, 0);
        candidates_.resize(kWindow);
        worst_ = guess_worst();
        search();
        if (hits_.size() < wanted_ && worst_.score > kAny.score) {  // too high a guess
            hits_.clear();
            worst_ = kAny;
            search();
        }
        return best_in_order();
    }

  private:
    double exact(const Word& word, std::uint32_t count, std::uint32_t document) const {
        return norm_.addition(word.weight, number(count), number(lengths_[document]));
    }

    // How much a word can add, in all and in the block that is not full.
    void find_bounds(Word& word) const {
        std::uint32_t most = word.postings().most(), shortest = word.postings().full() ? word.postings().shortest() : kNone;
        if (word.blocks() > word.postings().full()) {
            std::uint32_t high = 0, low = kNone;
            const Unpacked& rest = word.unpack(word.postings().full());
            for (std::size_t i = 0; i < rest.size; ++i) {
                high = std::max(high, rest.counts[i]);
                low = std::min(low, lengths_[rest.documents[i]]);
            }
            word.rest = std::max(0.0, norm_.addition(word.weight, number(high), number(low)));
            most = std::max(most, high);
            shortest = std::min(shortest, low);
        }
        const double largest = norm_.addition(word.weight, number(most), number(shortest));
        word.bound = std::max(0.0, largest);
        word.size = std::abs(largest);
    }

    double bound_of(const Word& word, std::size_t block) const {
        if (word.weight <= 0) return 0;
        if (block == word.postings().full()) return word.rest;
        const Skip skip = word.postings().skip(block);
        return norm_.addition(word.weight, number(decoded(skip.most)), number(decoded(skip.shortest))) * (1 + kSlack);
    }

    // Whether scores matter only from a positive one on: then a document without a word is none of the best.
    bool is_bounded() const { return worst_.score - slack_ > 0; }
    double least() const { return worst_.score - slack_; }

    // A score that more documents reach than are wanted, judged by a sample. Whether it was too high is seen by the
    // number of hits.
    Hit guess_worst() {
        const std::size_t documents = lengths_.size(), size = std::min(documents / (kSample * kPlaces), kWindow);
        const double share =
            static_cast<double>(wanted_) * static_cast<double>(kPlaces * size) / static_cast<double>(documents);
        const auto rank = static_cast<std::size_t>(share + 2.5 * std::sqrt(share) + 2);
        std::vector<float> found;
        is_sparse_ = are_few(all_words_, size);
        for (std::size_t place = 0; place < kPlaces && size > 0; ++place) {
            const auto start = static_cast<std::uint32_t>(documents / kPlaces * place);
            for (std::size_t w = 0; w < words_.size(); ++w) {
                words_[w].advance(start);
                sum_word(w, start, size);
            }
            for (std::size_t left = select(kAny.score), i = 0; i < left; ++i) found.push_back(sums_[candidates_[i]]);
            clear_window();
        }
        if (rank > found.size()) return kAny;
        const auto nth = found.begin() + static_cast<std::ptrdiff_t>(rank - 1);
        std::nth_element(found.begin(), nth, found.end(), std::greater<>());
        return {*nth - slack_, kNone, kNone};
    }

    // Gathers the hits, all documents not worse than `worst_` if they are not more than wanted.
    void search() {
        for (Word& word : words_) word.restart();
        for (std::size_t start = 0; start < lengths_.size(); start += kWindow) {
            // Only documents with one of the first words can still come among the best.
            double rest = 0;
            std::size_t essential = words_.size();
            while (is_bounded() && essential > 0 && rest + words_[essential - 1].bound < least())
                rest += words_[--essential].bound;
            std::uint32_t next = kNone;
            for (std::size_t w = 0; w < essential; ++w)
                next = std::min(next, words_[w].next(static_cast<std::uint32_t>(start)));
            if (next == kNone) return;
            if (next >= lengths_.size()) damaged();
            start = next;
            take_window(next, std::min(kWindow, lengths_.size() - next));
        }
    }

    // Sums a window: the words that decide for all its documents, the others for those that can still come among the
    // best. Sums are coarse, but never too low by more than the slack; what is left is scored exactly.
    void take_window(std::uint32_t start, std::size_t size) {
        for (Word& word : words_) word.here = bound_of_window(word, start, size);
        if (!is_bounded()) {
            is_sparse_ = are_few(all_words_, size);
            for (std::size_t w = 0; w < words_.size(); ++w) sum_word(w, start, size);
            take(start, select(least()));
        } else if (const std::size_t essential = sort_by_bound(); essential > 0) {
            is_sparse_ = are_few(std::span(by_bound_).first(essential), size);
            for (std::size_t i = 0; i < essential; ++i) sum_word(by_bound_[i], start, size);
            std::size_t left = select(least() - rest_[essential]);
            for (std::size_t i = essential; i < words_.size() && left > 0; ++i) {
                add_word(by_bound_[i], start, size, left, rest_[i + 1]);
                left = keep(left, least() - rest_[i + 1]);
            }
            take(start, left);
        }
        clear_window();
    }

    double bound_of_window(Word& word, std::uint32_t start, std::size_t size) const {
        word.advance(start);
        double bound = 0;
        for (std::size_t b = word.block(); b < word.blocks() && word.first(b) < start + size; ++b)
            bound = std::max(bound, bound_of(word, b));
        return bound;
    }

    // Puts the words in the order of their bounds in the window; how many of them a document must hold one of.
    std::size_t sort_by_bound() {
        by_bound_ = all_words_;
        std::stable_sort(by_bound_.begin(), by_bound_.end(),
                         [&](std::size_t x, std::size_t y) { return words_[x].here > words_[y].here; });
        rest_[words_.size()] = 0;
        for (std::size_t i = words_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + words_[by_bound_[i]].here;
        std::size_t essential = words_.size();
        while (essential > 0 && rest_[essential - 1] < least()) --essential;
        return essential;
    }

    void clear_window() {
        for (const std::uint32_t at : places_) {
            sums_[at] = kEmpty;
            for (std::size_t w = 0; w < words_.size(); ++w) counts_[w * kWindow + at] = 0;
        }
        places_.clear();
        for (std::size_t stripe = 0; stripe < touched_.size(); ++stripe) {
            if (!std::exchange(touched_[stripe], 0)) continue;
            std::fill_n(sums_.data() + stripe * kStripe, kStripe, kEmpty);
            for (std::size_t w = 0; w < words_.size(); ++w)
                std::memset(counts_.data() + w * kWindow + stripe * kStripe, 0, kStripe);
        }
    }

    // Adds a word to all documents of a window that hold it.
    void sum_word(std::size_t w, std::uint32_t start, std::size_t size) {
        Word& word = words_[w];
        const auto end = static_cast<std::uint32_t>(start + size);
        for (std::size_t b = word.block(); b < word.blocks() && word.first(b) < end; ++b) {
            const Unpacked& block = word.unpack(b);
            const std::size_t from = block.documents[0] < start ? place(block, start) : 0;
            const std::size_t to = block.documents[block.size - 1] < end ? block.size : place(block, end);
            sum_block(w, block, from, to, start);
        }
    }

    // Notes which documents of the window have sums: one by one where they are few, else by stripes.
    void note_places(const Unpacked& block, std::size_t from, std::size_t to, std::uint32_t start) {
        if (is_sparse_) {
            for (std::size_t i = from; i < to; ++i) places_.push_back(block.documents[i] - start);
            return;
        }
        const std::size_t first = (block.documents[from] - start) / kStripe, last = (block.documents[to - 1] - start) / kStripe;
        if (last - first < to - from)
            std::fill_n(touched_.begin() + static_cast<std::ptrdiff_t>(first), last - first + 1, std::uint8_t{1});
        else
            for (std::size_t i = from; i < to; ++i) touched_[(block.documents[i] - start) / kStripe] = 1;
    }

    // Whether the sums of a window are so few that it is faster to go through them than through the window.
    bool are_few(std::span<const std::size_t> words, std::size_t size) const {
        std::size_t postings = 0;
        for (const std::size_t w : words) postings += words_[w].postings().size();
        return static_cast<double>(postings) * static_cast<double>(size) < static_cast<double>(lengths_.size() * (kWindow / kFewer));
    }

    // Four postings go together, because four divisions take as long as one.
    void sum_block(std::size_t w, const Unpacked& block, std::size_t from, std::size_t to, std::uint32_t start) {
        const auto weight = static_cast<float>(words_[w].weight);
        const Norm<float> norm = coarse_;
        const std::uint32_t* const lengths = lengths_.data();
        float* const sums = sums_.data();
        std::uint8_t* const counts = counts_.data() + w * kWindow;
        const auto put = [=](std::uint32_t document, std::uint32_t count, float addition) {
            const std::uint32_t at = document - start;
            sums[at] += addition;
            counts[at] = static_cast<std::uint8_t>(std::min<std::uint32_t>(count, kMany));
        };
        if (from == to) return;
        note_places(block, from, to, start);
        std::size_t i = from;
        for (; i + 4 <= to; i += 4) {
            const std::uint32_t* const d = block.documents.data() + i;
            const std::uint32_t* const c = block.counts.data() + i;
            Ints some;
            std::memcpy(&some, c, sizeof some);
            const Ints long_ = {static_cast<std::int32_t>(lengths[d[0]]), static_cast<std::int32_t>(lengths[d[1]]),
                                static_cast<std::int32_t>(lengths[d[2]]), static_cast<std::int32_t>(lengths[d[3]])};
            const Floats added = norm.addition(weight, __builtin_convertvector(some, Floats), __builtin_convertvector(long_, Floats));
            put(d[0], c[0], added[0]);
            put(d[1], c[1], added[1]);
            put(d[2], c[2], added[2]);
            put(d[3], c[3], added[3]);
        }
        for (; i < to; ++i) {
            const std::uint32_t document = block.documents[i], count = block.counts[i];
            put(document, count, norm.addition(weight, static_cast<float>(count), static_cast<float>(lengths[document])));
        }
    }

    // Adds a word to the candidates, or to all documents of the window if that is faster.
    void add_word(std::size_t w, std::uint32_t start, std::size_t size, std::size_t left, double rest) {
        Word& word = words_[w];
        std::size_t last = word.block();
        while (last < word.blocks() && word.first(last) < start + size) ++last;
        if (left >= kSearch * (last - word.block())) return sum_word(w, start, size);
        for (std::size_t i = 0; i < left; ++i) {
            const std::uint32_t at = candidates_[i], document = start + at;
            word.advance(document);
            if (word.block() == word.blocks()) return;
            if (sums_[at] + bound_of(word, word.block()) < least() - rest) continue;
            const std::uint32_t count = word.count(document);
            if (count == 0) continue;
            counts_[w * kWindow + at] = static_cast<std::uint8_t>(std::min<std::uint32_t>(count, kMany));
            sums_[at] += coarse_.addition(static_cast<float>(word.weight), static_cast<float>(count),
                                          static_cast<float>(lengths_[document]));
        }
    }

    // Makes the documents of the window that reach `least` the candidates.
    std::size_t select(double least) {
        const float* const sums = sums_.data();
        const auto bound = static_cast<float>(least);
        std::uint32_t* const candidates = candidates_.data();
        std::size_t found = 0;
        if (is_sparse_) {  // once each, and in order
            for (const std::uint32_t at : places_)
                chosen_[at / 64] |= static_cast<std::uint64_t>(sums[at] >= bound) << at % 64;
            for (std::size_t i = 0; i < chosen_.size(); ++i)
                for (std::uint64_t which = std::exchange(chosen_[i], 0); which != 0; which &= which - 1)
                    candidates[found++] = static_cast<std::uint32_t>(64 * i) + static_cast<std::uint32_t>(std::countr_zero(which));
            return found;
        }
        for (std::size_t stripe = 0; stripe < touched_.size(); ++stripe) {
            if (!touched_[stripe]) continue;
            for (std::size_t at = stripe * kStripe; at < (stripe + 1) * kStripe; at += kGroup)
                for (std::uint32_t which = which_reach(sums + at, bound); which != 0; which &= which - 1)
                    candidates[found++] = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(std::countr_zero(which));
        }
        return found;
    }

    // Leaves the candidates that reach `least`.
    std::size_t keep(std::size_t left, double least) {
        const auto bound = static_cast<float>(least);
        std::size_t found = 0;
        for (std::size_t i = 0; i < left; ++i) {
            const std::uint32_t at = candidates_[i];
            candidates_[found] = at;
            found += sums_[at] >= bound;
        }
        return found;
    }

    // Makes hits of the candidates that are not worse than the worst one.
    void take(std::uint32_t start, std::size_t left) {
        std::size_t size = hits_.size();
        hits_.resize(size + left);
        for (std::size_t i = 0; i < left; ++i) {
            const std::uint32_t at = candidates_[i], document = start + at;
            double score = 0;
            for (std::size_t w = 0; w < words_.size(); ++w) {
                std::uint32_t count = counts_[w * kWindow + at];
                if (count == kMany) count = words_[w].count(document);
                if (count > 0) score += exact(words_[w], count, document);
            }
            hits_[size] = {score, ranks_[document], document};
            size += !kBetter(worst_, hits_[size]);
        }
        hits_.resize(size);
        if (size >= 2 * wanted_ + kSpare) keep_best();
    }

    // The best hits in order. They are dealt into as many ranges of scores as there are hits; those of the ranges that
    // matter are dealt again, now from the first rank to the last, so that hardly anything is left to be sorted.
    std::vector<Hit> best_in_order() {
        const std::size_t wanted = std::min(wanted_, hits_.size());
        if (hits_.size() > kFew) {
            const Ranges ranges(hits_);
            std::vector<std::size_t> starts = ranges.starts(hits_);
            std::erase_if(hits_, [&](const Hit& hit) { return starts[ranges.of(hit)] >= wanted; });
            sort_by_rank(hits_, lengths_.size());
            std::vector<Hit> dealt(hits_.size());
            for (const Hit& hit : hits_) dealt[starts[ranges.of(hit)]++] = hit;
            for (std::size_t range = 0, first = 0; first < dealt.size(); first = starts[range++])
                sort_unsorted(dealt.begin() + first, dealt.begin() + starts[range]);
            hits_.swap(dealt);
        } else {
            std::sort(hits_.begin(), hits_.end(), kBetter);
        }
        hits_.resize(wanted);
        return std::move(hits_);
    }

    // Forgets all but the best.
    void keep_best() {
        const auto nth = hits_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
        std::nth_element(hits_.begin(), nth, hits_.end(), kBetter);
        worst_ = *nth;
        hits_.resize(wanted_);
    }

    std::vector<Word> words_;  // by falling bound
    std::span<const std::uint32_t> lengths_;
    Norm<double> norm_;
    Norm<float> coarse_;
    double slack_ = 0;  // what coarse sums may be wrong by
    std::span<const std::uint32_t> ranks_;
    std::vector<std::size_t> all_words_;
    std::vector<std::size_t> by_bound_;      // words by their bounds in a window
    std::vector<double> rest_;               // what the words from there on can add in it
    std::vector<float> sums_;                // of the documents of a window
    std::vector<std::uint8_t> counts_;       // of each word in each of them
    std::vector<std::uint8_t> touched_;      // whether a stripe of it has sums
    bool is_sparse_ = false;                 // whether the documents with sums are noted one by one instead,
    std::vector<std::uint32_t> places_;      // here
    std::vector<std::uint64_t> chosen_;      // a bit for each document of it
    std::vector<std::uint32_t> candidates_;  // documents of it that can still come among the best
    std::vector<Hit> hits_;
    std::size_t wanted_ = 0;
    Hit worst_ = kAny;  // no worse document is wanted
};

}  // namespace

void bm25_scores(Lengths lengths, std::span<const Postings> words, Bm25 parameters, std::span<double> scores) {
    Query(lengths, words, parameters).all(scores);
}

std::vector<Hit> bm25_top(Lengths lengths, std::span<const Postings> words, Bm25 parameters, std::size_t n,
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
