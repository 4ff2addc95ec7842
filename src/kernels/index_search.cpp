#include "index_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace pippin {
namespace {

constexpr std::size_t kWindow = 8192;  // documents scored together; their sums stay in the nearest caches
constexpr std::size_t kBlock = 64;     // documents of a window that are cleared together
constexpr std::size_t kGroup = 8;      // documents of a block that are looked through together
constexpr double kSlack = 1e-9;        // far above the rounding of a few sums, far below any difference that matters
constexpr std::size_t kSample = 64;    // one document of so many is scored first, to guess which scores matter,
constexpr std::size_t kPlaces = 16;    // at so many places of the collection
constexpr std::size_t kSearch = 16;    // postings that are summed in the time in which one is searched for
constexpr std::size_t kFew = 64;       // hits that are sorted as they are
constexpr double kEmpty = -0.0;        // the sum of no addition: no addition gives it, and every addition replaces it

// Two numbers that are worked on at once: every 64-bit processor can, and no wider one is asked for.
using Pair = double __attribute__((vector_size(16)));
using Masks = std::int64_t __attribute__((vector_size(16)));

// Whether one of a group of sums is not empty and reaches `least`.
bool any_reaches(const double* sums, double least) {
    const Pair bound = {least, least}, zero = {0, 0};
    Masks any = {0, 0};
    for (std::size_t i = 0; i < kGroup; i += 2) {
        Pair pair;
        std::memcpy(&pair, sums + i, sizeof pair);
        const Masks empty = (pair == zero) & std::bit_cast<Masks>(pair);  // an empty sum is a zero with a sign
        any |= (pair >= bound) & ~empty;
    }
    return (any[0] | any[1]) < 0;
}

bool is_empty(double sum) { return std::bit_cast<std::uint64_t>(sum) == std::bit_cast<std::uint64_t>(kEmpty); }

// Arrays are mapped from files and not looked through when they are opened: a number that leads outside of them is
// caught where it is used.
[[noreturn]] void damaged() { throw std::runtime_error("a number in it leads nowhere"); }

// The stretch of a term's postings.
std::pair<std::size_t, std::size_t> stretch(const StreamView& stream, std::uint32_t term) {
    const std::int64_t first = stream.offsets[term], last = stream.offsets[term + 1];
    if (first < 0 || last < first || last > static_cast<std::int64_t>(stream.documents.size())) damaged();
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
}

// One word of a query: its postings and how much it can add.
template <typename Count>
struct Cursor {
    const std::uint32_t* document;
    const std::uint32_t* end;
    const Count* count;
    double weight;  // idf·(k1 + 1)
    double bound;   // no document gets more from this word; 0 for a word that only takes away
    double size;    // the largest addition without its sign

    static Cursor over(const StreamView& stream, std::span<const Count> counts, std::size_t first, std::size_t last,
                       double weight) {
        const std::uint32_t* const documents = stream.documents.data();
        return {documents + first, documents + last, counts.data() + first, weight, 0, 0};
    }

    std::size_t postings() const { return static_cast<std::size_t>(end - document); }

    // Moves to the first document not before `target`: doubling steps, then halving without branches.
    void advance(std::uint32_t target) {
        if (document == end || *document >= target) return;
        // Documents ascend, so that the place is at most as far away as the numbers are apart.
        const std::size_t left = std::min<std::size_t>(postings(), target - *document);
        std::size_t low = 0, high = 1;
        while (high < left && document[high] < target) low = high, high *= 2;
        const std::uint32_t* found = document + low + 1;
        for (std::size_t size = std::min(high, left) - low - 1; size > 0;) {
            const std::size_t half = (size + 1) / 2;
            found += found[half - 1] < target ? half : 0;
            size -= half;
        }
        count += found - document;
        document = found;
    }
};

// No text has 2³¹ words, and signed numbers are turned into doubles faster.
double number(std::uint32_t count) { return static_cast<double>(static_cast<std::int32_t>(count)); }

// What a document's length does to its counts: c/(c + k1(1 − b + b·length/average)), times the word's weight.
struct Norm {
    double fixed, slope;

    // Of one document, or of a pair of them.
    template <typename Number>
    Number addition(double weight, Number count, Number length) const {
        return weight * count / (count + (fixed + slope * length));
    }
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

template <typename Count>
class Query {
  public:
    Query(const StreamView& stream, std::span<const Count> counts, std::span<const std::uint32_t> terms, Bm25 bm25)
        : lengths_(stream.lengths),
          norm_{bm25.k1 * (1 - bm25.b), stream.average > 0 ? bm25.k1 * bm25.b / stream.average : 0} {
        const auto n = static_cast<double>(stream.lengths.size());
        for (const std::uint32_t term : terms) {
            if (term == kNone) continue;
            const auto [first, last] = stretch(stream, term);
            if (first == last) continue;
            const auto df = static_cast<double>(last - first);
            const double weight = std::log((n - df + 0.5) / (df + 0.5)) * (bm25.k1 + 1);
            auto word = Cursor<Count>::over(stream, counts, first, last, weight);
            const double largest = norm_.addition(weight, number(stream.most[term]), number(stream.shortest[term]));
            word.bound = std::max(0.0, largest);
            word.size = std::abs(largest);
            words_.push_back(word);
        }
        std::stable_sort(words_.begin(), words_.end(), [](const auto& x, const auto& y) { return x.bound > y.bound; });
    }

    void all(std::span<double> scores) const {
        std::fill(scores.begin(), scores.end(), 0.0);
        for (const Cursor<Count>& word : words_)
            each_posting(word, word.postings(), 0, lengths_.size(),
                         [&](std::uint32_t document, double addition) { scores[document] += addition; });
    }

    std::vector<Hit> top(std::size_t n, std::span<const std::uint32_t> ranks) {
        if (n == 0 || words_.empty()) return {};
        wanted_ = std::min(n, lengths_.size());
        ranks_ = ranks;
        double slack = 0;
        for (const auto& word : words_) slack += kSlack * word.size;
        rest_.assign(words_.size() + 1, slack);  // what the words from i on can add
        for (std::size_t i = words_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + words_[i].bound;
        sums_.assign(kWindow, kEmpty);
        touched_.assign(kWindow / kBlock, 0);
        candidates_.resize(kWindow + 1);
        groups_.resize(kWindow / kGroup + 1);
        const std::vector<Cursor<Count>> begin = words_;
        worst_ = guess_worst();
        search();
        if (hits_.size() < wanted_ && worst_.score > kAny.score) {  // too high a guess
            words_ = begin;
            hits_.clear();
            worst_ = kAny;
            search();
        }
        return best_in_order();
    }

  private:
    // Calls body(document - start, addition) for the next postings of a word, all of which must lie in a window. Two
    // go together, because two divisions take as long as one.
    template <typename Body>
    void each_posting(const Cursor<Count>& word, std::size_t postings, std::uint32_t start, std::size_t size,
                      Body&& body) const {
        const Norm norm = norm_;
        const double weight = word.weight;
        const std::uint32_t* const documents = word.document;
        const Count* const counts = word.count;
        const std::uint32_t* const lengths = lengths_.data() + start;
        std::size_t i = 0;
        for (; i + 1 < postings; i += 2) {
            const std::uint32_t first = documents[i] - start, second = documents[i + 1] - start;
            if (first >= size || second >= size) damaged();
            const Pair both = norm.addition(weight, Pair{number(counts[i]), number(counts[i + 1])},
                                            Pair{number(lengths[first]), number(lengths[second])});
            body(first, both[0]);
            body(second, both[1]);
        }
        if (i == postings) return;
        const std::uint32_t last = documents[i] - start;
        if (last >= size) damaged();
        body(last, norm.addition(weight, number(counts[i]), number(lengths[last])));
    }

    // A hit that about twice as many documents reach as are wanted, judged by a sample. Whether it was too good is seen
    // by the number of hits.
    Hit guess_worst() {
        const std::size_t documents = lengths_.size(), size = std::min(documents / (kSample * kPlaces), kWindow);
        const double share =
            static_cast<double>(wanted_) * static_cast<double>(kPlaces * size) / static_cast<double>(documents);
        const auto rank = static_cast<std::size_t>(1.2 * share + 3 * std::sqrt(share) + 3);
        std::vector<Cursor<Count>> words = words_;
        std::vector<Hit> found;
        for (std::size_t place = 0; place < kPlaces && size > 0; ++place) {
            const auto start = static_cast<std::uint32_t>(documents / kPlaces * place);
            for (Cursor<Count>& word : words) add_word(word, start, size, size);
            for (std::size_t left = select(kAny.score), i = 0; i < left; ++i)
                found.push_back({sums_[candidates_[i]], ranks_[start + candidates_[i]], start + candidates_[i]});
            clear_window();
        }
        if (rank > found.size()) return kAny;
        const auto nth = found.begin() + static_cast<std::ptrdiff_t>(rank - 1);
        std::nth_element(found.begin(), nth, found.end(), kBetter);
        return *nth;
    }

    // Gathers the hits, all documents not worse than `worst_` if they are not more than wanted.
    void search() {
        essential_ = words_.size();
        while (true) {
            // Only documents with one of the first words can still come among the best.
            while (essential_ > 0 && rest_[essential_ - 1] < worst_.score) --essential_;
            std::uint32_t start = kNone;
            for (std::size_t i = 0; i < essential_; ++i)
                if (words_[i].document != words_[i].end) start = std::min(start, *words_[i].document);
            if (start == kNone) return;
            if (start >= lengths_.size()) damaged();
            take_window(start, std::min(kWindow, lengths_.size() - start));
        }
    }

    // Scores a window: the essential words for all its documents, the others for those that can still come among the
    // best.
    void take_window(std::uint32_t start, std::size_t size) {
        for (std::size_t i = 0; i < essential_; ++i) add_word(words_[i], start, size, size);
        std::size_t left = select(worst_.score - rest_[essential_]);
        for (std::size_t i = essential_; i < words_.size() && left > 0; ++i) {
            add_word(words_[i], start, size, left);
            left = keep(left, worst_.score - rest_[i + 1]);
        }
        take(start, left);
        clear_window();
    }

    void clear_window() {
        for (std::size_t block = 0; block < touched_.size(); ++block)
            if (std::exchange(touched_[block], 0)) std::fill_n(sums_.data() + block * kBlock, kBlock, kEmpty);
    }

    // Adds a word to all documents of a window that hold it, or only to the candidates if these are so few that it is
    // faster to search for them.
    void add_word(Cursor<Count>& word, std::uint32_t start, std::size_t size, std::size_t left) {
        word.advance(start);
        Cursor<Count> from = word;
        word.advance(static_cast<std::uint32_t>(start + size));
        const auto postings = static_cast<std::size_t>(word.document - from.document);
        if (left < postings / kSearch)
            search_word(from, start, left);
        else
            sum_word(from, postings, start, size);
    }

    void sum_word(const Cursor<Count>& word, std::size_t postings, std::uint32_t start, std::size_t size) {
        double* const sums = sums_.data();
        std::uint32_t* const touched = touched_.data();
        each_posting(word, postings, start, size, [=](std::uint32_t at, double addition) {
            sums[at] += addition;
            touched[at / kBlock] = 1;
        });
    }

    void search_word(Cursor<Count>& word, std::uint32_t start, std::size_t left) {
        for (std::size_t i = 0; i < left; ++i) {
            const std::uint32_t document = start + candidates_[i];
            word.advance(document);
            if (word.document == word.end) return;
            if (*word.document == document)
                sums_[candidates_[i]] += norm_.addition(word.weight, number(*word.count), number(lengths_[document]));
        }
    }

    // Makes the documents of the window that reach `least` the candidates: first the groups with such a document, then
    // these. Neither loop branches on a score, which no processor can foresee.
    std::size_t select(double least) {
        const double* const sums = sums_.data();
        std::uint32_t* const groups = groups_.data();
        std::uint32_t* const candidates = candidates_.data();
        std::size_t chosen = 0, found = 0;
        for (std::size_t block = 0; block < touched_.size(); ++block) {
            if (!touched_[block]) continue;
            for (std::size_t at = block * kBlock; at < (block + 1) * kBlock; at += kGroup) {
                groups[chosen] = static_cast<std::uint32_t>(at);
                chosen += any_reaches(sums + at, least);
            }
        }
        for (std::size_t g = 0; g < chosen; ++g)
            for (std::uint32_t at = groups[g]; at < groups[g] + kGroup; ++at) {
                candidates[found] = at;
                found += (sums[at] >= least) & !is_empty(sums[at]);
            }
        return found;
    }

    // Leaves the candidates that reach `least`.
    std::size_t keep(std::size_t left, double least) {
        std::size_t found = 0;
        for (std::size_t i = 0; i < left; ++i) {
            const std::uint32_t at = candidates_[i];
            candidates_[found] = at;
            found += sums_[at] >= least;
        }
        return found;
    }

    // Makes hits of the candidates that are not worse than the worst one.
    void take(std::uint32_t start, std::size_t left) {
        std::size_t size = hits_.size();
        hits_.resize(size + left);
        for (std::size_t i = 0; i < left; ++i) {
            const std::uint32_t document = start + candidates_[i];
            hits_[size] = {sums_[candidates_[i]], ranks_[document], document};
            size += !kBetter(worst_, hits_[size]);
        }
        hits_.resize(size);
        if (size >= 2 * wanted_ + kFew) keep_best();
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
        if (hits_.size() < wanted_) return;
        const auto nth = hits_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
        std::nth_element(hits_.begin(), nth, hits_.end(), kBetter);
        worst_ = *nth;
        hits_.resize(wanted_);
    }

    std::vector<Cursor<Count>> words_;  // by falling bound
    std::span<const std::uint32_t> lengths_;
    Norm norm_;
    std::span<const std::uint32_t> ranks_;
    std::vector<double> rest_;
    std::vector<double> sums_;               // of the documents of a window
    std::vector<std::uint32_t> touched_;     // whether a block of it has sums
    std::vector<std::uint32_t> groups_;      // groups of it with a candidate
    std::vector<std::uint32_t> candidates_;  // documents of it that can still come among the best
    std::vector<Hit> hits_;
    std::size_t wanted_ = 0;
    std::size_t essential_ = 0;
    Hit worst_ = kAny;  // no worse document is wanted
};

template <typename Work>
auto with_counts(const StreamView& stream, Work&& work) {
    if (!stream.counts8.empty()) return work(stream.counts8);
    if (!stream.counts16.empty()) return work(stream.counts16);
    return work(stream.counts32);
}

}  // namespace

void bm25_scores(const StreamView& stream, std::span<const std::uint32_t> terms, Bm25 parameters,
                 std::span<double> scores) {
    with_counts(stream, [&]<typename Count>(std::span<const Count> counts) {
        Query<Count>(stream, counts, terms, parameters).all(scores);
    });
}

std::vector<Hit> bm25_top(const StreamView& stream, std::span<const std::uint32_t> terms, Bm25 parameters,
                          std::size_t n, std::span<const std::uint32_t> ranks) {
    return with_counts(stream, [&]<typename Count>(std::span<const Count> counts) {
        return Query<Count>(stream, counts, terms, parameters).top(n, ranks);
    });
}

void count_in(const StreamView& stream, std::span<const std::uint32_t> terms, std::span<const std::int64_t> numbers,
              std::span<double> counts) {
    std::fill(counts.begin(), counts.end(), 0.0);
    with_counts(stream, [&]<typename Count>(std::span<const Count> all) {
        for (std::size_t t = 0; t < terms.size(); ++t) {
            if (terms[t] == kNone) continue;
            const auto [first, last] = stretch(stream, terms[t]);
            auto word = Cursor<Count>::over(stream, all, first, last, 0);
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                const auto document = static_cast<std::uint32_t>(numbers[i]);
                word.advance(document);
                if (word.document == word.end) break;
                if (*word.document == document) counts[t * numbers.size() + i] = static_cast<double>(*word.count);
            }
        }
    });
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
