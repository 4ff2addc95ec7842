#include "index_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace pippin {
namespace {

constexpr std::size_t kWindow = 4096;  // documents scored together; their sums stay in the nearest caches
constexpr std::size_t kBlock = 16;     // documents of a window that are looked through together
constexpr double kSlack = 1e-9;        // far above the rounding of a few sums, far below any difference that matters
constexpr std::size_t kSample = 64;    // one document of so many is scored first, to guess which scores matter,
constexpr std::size_t kPlaces = 16;    // at so many places of the collection
constexpr std::size_t kSearch = 8;     // postings that are summed in the time in which one is searched for
constexpr double kEmpty = -0.0;        // the sum of no addition: no addition gives it, and every addition replaces it

bool is_empty(double sum) { return std::bit_cast<std::uint64_t>(sum) == std::bit_cast<std::uint64_t>(kEmpty); }

// Arrays are mapped from files and not looked through when they are opened: a number that leads outside of them is caught
// where it is used.
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
    std::size_t all;  // postings from the first on
    double weight;    // idf·(k1 + 1)
    double bound;     // no document gets more from this word; 0 for a word that only takes away
    double size;      // the largest addition without its sign

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

// What a document's length does to its counts: c/(c + k1(1 − b + b·length/average)), times the word's weight.
struct Norm {
    double fixed, slope;

    double addition(double weight, std::uint32_t count, std::uint32_t length) const {
        // No text has 2³¹ words, and signed numbers are turned into doubles several at a time.
        const auto c = static_cast<double>(static_cast<std::int32_t>(count));
        return weight * c / (c + (fixed + slope * static_cast<double>(static_cast<std::int32_t>(length))));
    }
};

template <typename Count>
class Query {
  public:
    Query(const StreamView& stream, std::span<const Count> counts, std::span<const std::uint32_t> terms, Bm25 parameters)
        : lengths_(stream.lengths),
          norm_{parameters.k1 * (1 - parameters.b), stream.average > 0 ? parameters.k1 * parameters.b / stream.average : 0} {
        const auto n = static_cast<double>(stream.lengths.size());
        for (const std::uint32_t term : terms) {
            if (term == kNone) continue;
            const auto [first, last] = stretch(stream, term);
            if (first == last) continue;
            const auto df = static_cast<double>(last - first);
            Cursor<Count> word{stream.documents.data() + first, stream.documents.data() + last, counts.data() + first, last - first,
                               std::log((n - df + 0.5) / (df + 0.5)) * (parameters.k1 + 1), 0, 0};
            const double largest = norm_.addition(word.weight, stream.most[term], stream.shortest[term]);
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
        wanted_ = n;
        ranks_ = ranks;
        double slack = 0;
        for (const auto& word : words_) slack += kSlack * word.size;
        rest_.assign(words_.size() + 1, slack);  // what the words from i on can add
        for (std::size_t i = words_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + words_[i].bound;
        sums_.assign(kWindow, kEmpty);
        touched_.assign(kWindow / kBlock, 0);
        candidates_.resize(kWindow);
        const std::vector<Cursor<Count>> begin = words_;
        worst_ = guess_worst();
        search();
        if (hits_.size() < wanted_ && worst_.score > kAny.score) {  // too high a guess
            words_ = begin;
            hits_.clear();
            worst_ = kAny;
            search();
        }
        keep_best();
        std::sort(hits_.begin(), hits_.end(), kBetter);
        return std::move(hits_);
    }

  private:
    static constexpr Hit kAny{-std::numeric_limits<double>::infinity(), kNone, kNone};
    static constexpr auto kBetter = [](const Hit& a, const Hit& b) {
        return a.score > b.score || (a.score == b.score && a.rank < b.rank);
    };

    // Calls body(document, addition) for the next postings of a word, all of which must lie in a window.
    template <typename Body>
    void each_posting(const Cursor<Count>& word, std::size_t postings, std::uint32_t start, std::size_t size, Body&& body) const {
        const Norm norm = norm_;
        const double weight = word.weight;
        const std::uint32_t* const documents = word.document;
        const Count* const counts = word.count;
        const std::uint32_t* const lengths = lengths_.data();
        for (std::size_t i = 0; i < postings; ++i) {
            const std::uint32_t document = documents[i];
            if (document - start >= size) damaged();
            body(document, norm.addition(weight, counts[i], lengths[document]));
        }
    }

    // A hit that about twice as many documents reach as are wanted, judged by a sample. Whether it was too good is seen by
    // the number of hits.
    Hit guess_worst() {
        const std::size_t documents = lengths_.size(), size = std::min(documents / (kSample * kPlaces), kWindow);
        const double share = static_cast<double>(wanted_) * static_cast<double>(kPlaces * size) / static_cast<double>(documents);
        const auto rank = static_cast<std::size_t>(1.5 * share + 4 * std::sqrt(share) + 4);
        std::vector<Cursor<Count>> words = words_;
        std::vector<Hit> found;
        for (std::size_t place = 0; place < kPlaces && size > 0; ++place) {
            const auto start = static_cast<std::uint32_t>(documents / kPlaces * place);
            for (Cursor<Count>& word : words) sum_word(word, start, size);
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

    // Scores a window: the essential words for all its documents, the others for those that can still come among the best,
    // unless these may be so many that it is faster to sum a word for all.
    void take_window(std::uint32_t start, std::size_t size) {
        std::size_t postings = 0, next = 0;
        for (; next < words_.size() && (next < essential_ || postings * kSearch > words_[next].all); ++next) {
            sum_word(words_[next], start, size);
            postings += words_[next].all;
        }
        std::size_t left = select(worst_.score - rest_[next]);
        for (; next < words_.size() && left > 0; ++next) {
            search_word(words_[next], start, left);
            left = keep(left, worst_.score - rest_[next + 1]);
        }
        for (std::size_t i = 0; i < left; ++i) take(start + candidates_[i], sums_[candidates_[i]]);
        clear_window();
    }

    void clear_window() {
        for (std::size_t block = 0; block < touched_.size(); ++block)
            if (std::exchange(touched_[block], 0)) std::fill_n(sums_.data() + block * kBlock, kBlock, kEmpty);
    }

    // Adds a word to all documents of a window that hold it.
    void sum_word(Cursor<Count>& word, std::uint32_t start, std::size_t size) {
        word.advance(start);
        const Cursor<Count> from = word;
        word.advance(static_cast<std::uint32_t>(start + size));
        double* const sums = sums_.data();
        std::uint32_t* const touched = touched_.data();
        each_posting(from, static_cast<std::size_t>(word.document - from.document), start, size,
                     [=](std::uint32_t document, double addition) {
                         const std::uint32_t at = document - start;
                         sums[at] += addition;
                         touched[at / kBlock] = 1;
                     });
    }

    // Adds a word to the candidates that hold it.
    void search_word(Cursor<Count>& word, std::uint32_t start, std::size_t left) {
        for (std::size_t i = 0; i < left; ++i) {
            const std::uint32_t document = start + candidates_[i];
            word.advance(document);
            if (word.document == word.end) return;
            if (*word.document == document)
                sums_[candidates_[i]] += norm_.addition(word.weight, *word.count, lengths_[document]);
        }
    }

    // Makes the documents of the window that reach `least` the candidates.
    std::size_t select(double least) {
        std::size_t found = 0;
        std::uint32_t* const candidates = candidates_.data();
        for (std::size_t block = 0; block < touched_.size(); ++block) {
            if (!touched_[block]) continue;
            const double* sums = sums_.data() + block * kBlock;
            std::int64_t reach = 0;
            for (std::size_t i = 0; i < kBlock; ++i) reach += sums[i] >= least;
            if (reach == 0) continue;
            for (std::size_t i = 0; i < kBlock; ++i) {
                candidates[found] = static_cast<std::uint32_t>(block * kBlock + i);
                found += (sums[i] >= least) & !is_empty(sums[i]);
            }
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

    void take(std::uint32_t document, double sum) {
        const Hit hit{sum, ranks_[document], document};
        if (kBetter(worst_, hit)) return;
        hits_.push_back(hit);
        if (hits_.size() >= 2 * wanted_ + 64) keep_best();
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

void bm25_scores(const StreamView& stream, std::span<const std::uint32_t> terms, Bm25 parameters, std::span<double> scores) {
    with_counts(stream, [&]<typename Count>(std::span<const Count> counts) {
        Query<Count>(stream, counts, terms, parameters).all(scores);
    });
}

std::vector<Hit> bm25_top(const StreamView& stream, std::span<const std::uint32_t> terms, Bm25 parameters, std::size_t n,
                          std::span<const std::uint32_t> ranks) {
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
            Cursor<Count> word{stream.documents.data() + first, stream.documents.data() + last, all.data() + first, last - first, 0, 0, 0};
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
        const Bytes found = bytes.subspan(static_cast<std::size_t>(starts[number]), static_cast<std::size_t>(lengths[number]));
        return std::string_view(reinterpret_cast<const char*>(found.data()), found.size());
    };
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto found = std::lower_bound(order.begin(), order.end(), wanted[i],
                                            [&](std::uint32_t number, std::string_view value) { return text(number) < value; });
        numbers[i] = found != order.end() && text(*found) == wanted[i] ? static_cast<std::int64_t>(*found) : -1;
    }
}

}  // namespace pippin
