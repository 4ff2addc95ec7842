#include "index_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace pippin {
namespace {

constexpr std::size_t kWindow = 4096;  // documents scored together; their sums stay in the nearest caches
constexpr std::size_t kBlock = 32;     // documents of a window that are looked through together
constexpr std::size_t kChunk = 256;    // postings whose additions are worked out together
constexpr double kSlack = 1e-9;        // far above the rounding of a few sums, far below any difference that matters
constexpr std::size_t kWorth = 4;      // times that a word must be rarer than all words together to be looked at twice
constexpr std::size_t kSearch = 8;     // postings that are summed in the time in which one is searched for
constexpr double kEmpty = -0.0;        // the sum of no addition: no addition gives it, and every addition replaces it

bool is_empty(double sum) { return sum == 0 && std::signbit(sum); }

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

    double addition(double weight, double count, double length) const {
        return weight * count / (count + (fixed + slope * length));
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
            const double largest = norm_.addition(word.weight, static_cast<double>(stream.most[term]), static_cast<double>(stream.shortest[term]));
            word.bound = std::max(0.0, largest);
            word.size = std::abs(largest);
            words_.push_back(word);
        }
        std::stable_sort(words_.begin(), words_.end(), [](const auto& x, const auto& y) { return x.bound > y.bound; });
    }

    void all(std::span<double> scores) const {
        std::fill(scores.begin(), scores.end(), 0.0);
        for (const Cursor<Count>& word : words_)
            each_chunk(word, word.postings(), 0, lengths_.size(), [&](std::span<const std::uint32_t> at, const double* additions) {
                for (std::size_t i = 0; i < at.size(); ++i) scores[at[i]] += additions[i];
            });
    }

    std::vector<Hit> top(std::size_t n, std::span<const std::uint32_t> ranks) {
        if (n == 0 || words_.empty()) return {};
        wanted_ = n;
        ranks_ = ranks;
        essential_ = words_.size();
        double slack = 0;
        for (const auto& word : words_) slack += kSlack * word.size;
        rest_.assign(words_.size() + 1, slack);  // what the words from i on can add
        for (std::size_t i = words_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + words_[i].bound;
        threshold_ = safe_threshold() - slack;
        sums_.assign(kWindow, kEmpty);
        touched_.assign(kWindow / kBlock, 0);
        candidates_.resize(kWindow);
        while (true) {
            // Only documents with one of the first words can still come among the best.
            while (essential_ > 0 && rest_[essential_ - 1] < threshold_) --essential_;
            std::uint32_t start = kNone;
            for (std::size_t i = 0; i < essential_; ++i)
                if (words_[i].document != words_[i].end) start = std::min(start, *words_[i].document);
            if (start == kNone) break;
            if (start >= lengths_.size()) damaged();
            take_window(start, std::min(kWindow, lengths_.size() - start));
        }
        keep_best();
        std::sort(hits_.begin(), hits_.end(), kBetter);
        return std::move(hits_);
    }

  private:
    static constexpr auto kBetter = [](const Hit& a, const Hit& b) {
        return a.score > b.score || (a.score == b.score && a.rank < b.rank);
    };

    // Calls body(documents − start, additions) for the next postings of a word, some at a time. Each step is a loop of its
    // own, so that the divisions are done side by side.
    template <typename Body>
    void each_chunk(const Cursor<Count>& word, std::size_t postings, std::uint32_t start, std::size_t size, Body&& body) const {
        const Norm norm = norm_;
        std::uint32_t at[kChunk];
        double lengths[kChunk], additions[kChunk];
        for (std::size_t done = 0; done < postings; done += kChunk) {
            const std::size_t n = std::min(kChunk, postings - done);
            const std::uint32_t* documents = word.document + done;
            const Count* counts = word.count + done;
            std::uint32_t last = 0;
            for (std::size_t i = 0; i < n; ++i) last = std::max(last, at[i] = documents[i] - start);
            if (last >= size) damaged();
            for (std::size_t i = 0; i < n; ++i) lengths[i] = static_cast<double>(lengths_[documents[i]]);
            for (std::size_t i = 0; i < n; ++i)
                additions[i] = norm.addition(word.weight, static_cast<double>(counts[i]), lengths[i]);
            body(std::span<const std::uint32_t>(at, n), additions);
        }
    }

    // A score that `wanted_` documents reach for sure: as many get it from one word alone, whatever the words that take
    // away take. The rarest such word gives the highest; it is not worth its postings if there are few others.
    double safe_threshold() const {
        const Cursor<Count>* rarest = nullptr;
        std::size_t postings = 0;
        double taken = 0;
        for (const auto& word : words_) {
            postings += word.postings();
            if (word.bound == 0) taken += word.size;
            else if (word.postings() >= wanted_ && (!rarest || word.postings() < rarest->postings())) rarest = &word;
        }
        if (!rarest || rarest->postings() * kWorth > postings) return -std::numeric_limits<double>::infinity();
        std::vector<double> all;
        all.reserve(rarest->postings());
        each_chunk(*rarest, rarest->postings(), 0, lengths_.size(),
                   [&](std::span<const std::uint32_t> at, const double* additions) {
                       all.insert(all.end(), additions, additions + at.size());
                   });
        const auto nth = all.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
        std::nth_element(all.begin(), nth, all.end(), std::greater<>());
        return *nth - taken;
    }

    // Scores a window: the essential words for all its documents, the others for those that can still come among the best.
    void take_window(std::uint32_t start, std::size_t size) {
        for (std::size_t i = 0; i < essential_; ++i) sum_word(words_[i], start, size);
        std::size_t left = select(threshold_ - rest_[essential_]);
        for (std::size_t i = essential_; i < words_.size() && left > 0; ++i) {
            if (i > essential_) left = keep(left, threshold_ - rest_[i]);
            // About as many postings of the word lie in the window.
            if (left * kSearch > words_[i].all * size / lengths_.size()) sum_word(words_[i], start, size);
            else search_word(words_[i], start, left);
        }
        for (std::size_t i = 0; i < left; ++i) take(start + candidates_[i], sums_[candidates_[i]]);
        for (std::size_t block = 0; block < touched_.size(); ++block)
            if (std::exchange(touched_[block], 0)) std::fill_n(sums_.begin() + static_cast<std::ptrdiff_t>(block * kBlock), kBlock, kEmpty);
    }

    // Adds a word to all documents of a window that hold it.
    void sum_word(Cursor<Count>& word, std::uint32_t start, std::size_t size) {
        word.advance(start);
        const Cursor<Count> from = word;
        word.advance(static_cast<std::uint32_t>(start + size));
        double* const sums = sums_.data();
        std::uint32_t* const touched = touched_.data();
        each_chunk(from, static_cast<std::size_t>(word.document - from.document), start, size,
                   [=](std::span<const std::uint32_t> at, const double* additions) {
                       for (std::size_t i = 0; i < at.size(); ++i) {
                           sums[at[i]] += additions[i];
                           touched[at[i] / kBlock] = 1;
                       }
                   });
    }

    // Adds a word to the candidates that hold it.
    void search_word(Cursor<Count>& word, std::uint32_t start, std::size_t left) {
        for (std::size_t i = 0; i < left; ++i) {
            const std::uint32_t document = start + candidates_[i];
            word.advance(document);
            if (word.document == word.end) return;
            if (*word.document == document)
                sums_[candidates_[i]] += norm_.addition(word.weight, static_cast<double>(*word.count), static_cast<double>(lengths_[document]));
        }
    }

    // Makes the documents of the window that reach `least` the candidates.
    std::size_t select(double least) {
        std::size_t found = 0;
        for (std::size_t block = 0; block < touched_.size(); ++block) {
            if (!touched_[block]) continue;
            const double* sums = sums_.data() + block * kBlock;
            std::int64_t reach = 0;
            for (std::size_t i = 0; i < kBlock; ++i) reach += sums[i] >= least;
            if (reach == 0) continue;
            for (std::size_t i = 0; i < kBlock; ++i) {
                candidates_[found] = static_cast<std::uint32_t>(block * kBlock + i);
                found += sums[i] >= least && !is_empty(sums[i]);
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
        if (sum < threshold_) return;
        hits_.push_back({sum, ranks_[document], document});
        if (hits_.size() >= 2 * wanted_ + 64) keep_best();
    }

    // Forgets all but the best; the worst of them is the threshold for the others.
    void keep_best() {
        if (hits_.size() < wanted_) return;
        const auto nth = hits_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
        std::nth_element(hits_.begin(), nth, hits_.end(), kBetter);
        threshold_ = nth->score;
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
    double threshold_ = -std::numeric_limits<double>::infinity();
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
