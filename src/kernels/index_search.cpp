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

constexpr std::size_t kWindow = 4096;  // documents scored together; their sums stay in the first cache
constexpr double kSlack = 1e-9;        // far above the rounding of a few sums, far below any difference that matters
constexpr std::size_t kWorth = 4;      // times that a word must be rarer than all words together to be looked at twice

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
    const std::uint32_t* lengths;
    double fixed, slope;

    double addition(double weight, std::uint32_t count, std::uint32_t length) const {
        const auto c = static_cast<double>(count);
        return weight * c / (c + (fixed + slope * static_cast<double>(length)));
    }
    template <typename Count>
    double addition(const Cursor<Count>& word) const {
        return addition(word.weight, *word.count, lengths[*word.document]);
    }
};

template <typename Count>
class Query {
  public:
    Query(const StreamView& stream, std::span<const Count> counts, std::span<const std::uint32_t> terms, Bm25 parameters)
        : documents_(stream.lengths.size()),
          norm_{stream.lengths.data(), parameters.k1 * (1 - parameters.b),
                stream.average > 0 ? parameters.k1 * parameters.b / stream.average : 0} {
        const auto n = static_cast<double>(stream.lengths.size());
        for (const std::uint32_t term : terms) {
            if (term == kNone) continue;
            const auto [first, last] = stretch(stream, term);
            if (first == last) continue;
            const auto df = static_cast<double>(last - first);
            Cursor<Count> word{stream.documents.data() + first, stream.documents.data() + last, counts.data() + first,
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
        const Norm norm = norm_;
        for (Cursor<Count> word : words_)
            for (; word.document != word.end; ++word.document, ++word.count) {
                if (*word.document >= documents_) damaged();
                scores[*word.document] += norm.addition(word);
            }
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
        std::vector<double> sums(kWindow);
        std::vector<std::uint64_t> marks(kWindow / 64);
        while (true) {
            // Only documents with one of the first words can still come among the best.
            while (essential_ > 0 && rest_[essential_ - 1] < threshold_) --essential_;
            std::uint32_t start = kNone;
            for (std::size_t i = 0; i < essential_; ++i)
                if (words_[i].document != words_[i].end) start = std::min(start, *words_[i].document);
            if (start == kNone) break;
            if (start >= documents_) damaged();
            sum_window(start, sums, marks);
            take_window(start, sums, marks);
        }
        keep_best();
        std::sort(hits_.begin(), hits_.end(), better);
        return std::move(hits_);
    }

  private:
    static bool better(const Hit& a, const Hit& b) { return a.score > b.score || (a.score == b.score && a.rank < b.rank); }

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
        std::vector<double> additions;
        additions.reserve(rarest->postings());
        for (Cursor<Count> word = *rarest; word.document != word.end; ++word.document, ++word.count) {
            if (*word.document >= documents_) damaged();
            additions.push_back(norm_.addition(word));
        }
        const auto nth = additions.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
        std::nth_element(additions.begin(), nth, additions.end(), std::greater<>());
        return *nth - taken;
    }

    // Sums the essential words over the documents of a window.
    void sum_window(std::uint32_t start, std::span<double> sums, std::span<std::uint64_t> marks) {
        const Norm norm = norm_;
        const std::size_t size = std::min(kWindow, documents_ - start);
        for (std::size_t i = 0; i < essential_; ++i) {
            Cursor<Count> word = words_[i];
            for (; word.document != word.end; ++word.document, ++word.count) {
                const std::uint32_t at = *word.document - start;
                if (at >= size) break;
                sums[at] += norm.addition(word);
                marks[at / 64] |= std::uint64_t{1} << (at % 64);
            }
            words_[i] = word;
        }
    }

    // Completes the sums that can still come among the best, and leaves the window empty.
    void take_window(std::uint32_t start, std::span<double> sums, std::span<std::uint64_t> marks) {
        double least = threshold_ - rest_[essential_];
        for (std::size_t block = 0; block < marks.size(); ++block) {
            for (std::uint64_t bits = marks[block]; bits; bits &= bits - 1) {
                const std::size_t at = block * 64 + static_cast<std::size_t>(std::countr_zero(bits));
                const double sum = sums[at];
                sums[at] = 0;
                if (sum < least) continue;
                complete(start + static_cast<std::uint32_t>(at), sum);
                least = threshold_ - rest_[essential_];
            }
            marks[block] = 0;
        }
    }

    void complete(std::uint32_t document, double sum) {
        for (std::size_t i = essential_; i < words_.size(); ++i) {
            if (sum + rest_[i] < threshold_) return;
            auto& word = words_[i];
            word.advance(document);
            if (word.document != word.end && *word.document == document) sum += norm_.addition(word);
        }
        if (sum < threshold_) return;
        hits_.push_back({sum, ranks_[document], document});
        if (hits_.size() >= 2 * wanted_ + 64) keep_best();
    }

    // Forgets all but the best; the worst of them is the threshold for the others.
    void keep_best() {
        if (hits_.size() < wanted_) return;
        const auto nth = hits_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
        std::nth_element(hits_.begin(), nth, hits_.end(), better);
        threshold_ = nth->score;
        hits_.resize(wanted_);
    }

    std::vector<Cursor<Count>> words_;  // by falling bound
    std::size_t documents_;
    Norm norm_;
    std::span<const std::uint32_t> ranks_;
    std::vector<double> rest_;
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
            Cursor<Count> word{stream.documents.data() + first, stream.documents.data() + last, all.data() + first, 0, 0, 0};
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
