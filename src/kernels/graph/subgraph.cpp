#include "graph/subgraph.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "parallel.hpp"

namespace pippin {
namespace {

constexpr std::int64_t kBlock = 4096;  // pages per block of work of a thread
constexpr std::size_t kRoom = 4096;  // links processed together, few enough for the first-level cache

// Concatenated lists of numbers in reusable memory.
template <typename Number>
struct Joined {
    std::vector<Number> numbers;
    std::vector<std::size_t> ends{0};  // of each list, after the beginning of the first
    std::size_t count = 0;

    // Reserves space for `more` numbers.
    Number* expect(std::size_t more) {
        if (numbers.size() < count + more) numbers.resize(std::max(2 * numbers.size(), count + more));
        return numbers.data() + count;
    }
    // Branch-free, because the condition is unpredictable: a number that is not kept is overwritten by the next.
    void take(Number number, bool taken) {
        numbers[count] = number;
        count += taken;
    }
    void end_list() { ends.push_back(count); }
    void clear(std::size_t most) {
        count = 0;
        ends.resize(1);
        expect(most);
    }
    std::size_t lists() const { return ends.size() - 1; }
    std::span<const Number> all() const { return {numbers.data(), count}; }
    std::span<const Number> list(std::size_t i) const { return all().subspan(ends[i], ends[i + 1] - ends[i]); }
};

// Finds the links among some pages, many lists at a time. Lists, bits and scores are scattered in memory: each is read
// in its own short loop, so that many reads are in flight at once.
class InnerFinder {
  public:
    InnerFinder(const PageSet& inside, const PageSet& scored, const PageSet& either, std::span<const double> scores)
        : inside_(inside), scored_(scored), either_(either), scores_(scores) {}

    // Adds the links of the first of these pages; of how many.
    std::size_t add(const Lists& lists, std::span<const std::int64_t> pages) {
        copy(lists, pages);
        drop_others();
        sort_out();
        slots_.resize(with_score_.count);
        points_.resize(with_score_.count);
        for (std::size_t k = 0; k < slots_.size(); ++k) slots_[k] = scored_.slot(with_score_.numbers[k]);
        for (std::size_t k = 0; k < points_.size(); ++k) points_[k] = scores_[slots_[k]];
        for (const std::int32_t column : inner_.all()) found.columns.push_back(inside_.slot(column));
        for (std::size_t i = 0; i < copied_.lists(); ++i) weigh(i);
        return copied_.lists();
    }

    InnerLinks found;

  private:
    void copy(const Lists& lists, std::span<const std::int64_t> pages) {
        copied_.clear(kRoom);
        for (const std::int64_t page : pages) {
            const std::span<const std::int32_t> list = lists.of(page);
            if (!list.empty()) std::memcpy(copied_.expect(list.size()), list.data(), list.size_bytes());
            copied_.count += list.size();
            copied_.end_list();
            if (copied_.count >= kRoom) break;
        }
        check_columns(copied_.all(), lists.size());
    }

    // Most links lead to pages that are not needed.
    void drop_others() {
        kept_.clear(copied_.count);
        for (std::size_t i = 0; i < copied_.lists(); ++i) {
            for (const std::int32_t column : copied_.list(i)) kept_.take(column, either_.has(column));
            kept_.end_list();
        }
    }

    void sort_out() {
        inner_.clear(kept_.count);
        with_score_.clear(kept_.count);
        both_.clear(kept_.count);
        for (std::size_t i = 0; i < kept_.lists(); ++i) {
            for (const std::int32_t column : kept_.list(i)) {
                const bool inside = inside_.has(column), scored = scored_.has(column);
                inner_.take(column, inside);
                both_.take(with_score_.count, inside && scored);
                with_score_.take(column, scored);
            }
            if (both_.count == both_.ends.back()) with_score_.count = with_score_.ends.back();  // not used any more
            inner_.end_list();
            with_score_.end_list();
            both_.end_list();
        }
    }

    void weigh(std::size_t i) {
        double total = 0.0;
        for (std::size_t k = with_score_.ends[i]; k < with_score_.ends[i + 1]; ++k) total += std::max(points_[k], 0.0);
        for (const std::size_t k : both_.list(i)) {
            if (points_[k] <= 0.0) continue;
            found.weighted_columns.push_back(inside_.slot(with_score_.numbers[k]));
            found.weights.push_back(points_[k] / total);
        }
        found.offsets.push_back(found.offsets.back() + static_cast<std::int64_t>(inner_.list(i).size()));
        found.weighted_offsets.push_back(static_cast<std::int64_t>(found.weights.size()));
    }

    const PageSet &inside_, &scored_, &either_;
    std::span<const double> scores_;
    Joined<std::int32_t> copied_, kept_, inner_, with_score_;  // columns: all, in either set, inside, with a score
    Joined<std::size_t> both_;                                 // which of those with a score are inside
    std::vector<std::int32_t> slots_;                          // the places of columns with a score,
    std::vector<double> points_;                               // and their scores
};

// Adds the links of the next pages.
void append(InnerLinks& all, const InnerLinks& next) {
    const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    const auto add_offsets = [](auto& to, const auto& from) {
        for (std::size_t i = 1, before = to.back(); i < from.size(); ++i) to.push_back(before + from[i]);
    };
    add_offsets(all.offsets, next.offsets);
    add_offsets(all.weighted_offsets, next.weighted_offsets);
    add(all.columns, next.columns);
    add(all.weighted_columns, next.weighted_columns);
    add(all.weights, next.weights);
}

}  // namespace

PageSet::PageSet(std::int64_t pages) : pages_(pages), bits_((pages + 63) / 64), before_(bits_.size()) {}

PageSet PageSet::operator|(const PageSet& other) const {
    PageSet either(pages_);
    std::ranges::transform(bits_, other.bits_, either.bits_.begin(), std::bit_or<>());
    either.numbered_ = false;
    return either;
}

std::vector<std::int64_t> PageSet::add(std::span<const std::int64_t> pages) {
    std::vector<std::int64_t> fresh;
    numbered_ = false;
    for (const std::int64_t page : pages) {
        if (page < 0 || page >= pages_) throw std::invalid_argument("a page that is not there");
        std::uint64_t& word = bits_[page / 64];
        const std::uint64_t bit = std::uint64_t{1} << page % 64;
        if (!(word & bit)) fresh.push_back(page);
        word |= bit;
    }
    return fresh;
}

std::vector<std::int64_t> PageSet::number() {
    std::vector<std::int64_t> members;
    for (std::size_t i = 0; i < bits_.size(); ++i) {
        before_[i] = static_cast<std::int32_t>(members.size());
        for (std::uint64_t word = bits_[i]; word; word &= word - 1)
            members.push_back(static_cast<std::int64_t>(i) * 64 + std::countr_zero(word));
    }
    size_ = members.size();
    numbered_ = true;
    return members;
}

void PageSet::slots(std::span<const std::int64_t> pages, std::span<std::int64_t> found) const {
    for (std::size_t i = 0; i < pages.size(); ++i) {
        if (pages[i] < 0 || pages[i] >= pages_) throw std::invalid_argument("a page that is not there");
        const auto page = static_cast<std::uint32_t>(pages[i]);
        found[i] = has(page) ? slot(page) : -1;
    }
}

std::size_t PageSet::size() const {
    if (!numbered_) throw std::invalid_argument("the pages have not been numbered");
    return size_;
}

InnerLinks inner_links(const Lists& lists, const PageSet& inside, std::span<const std::int64_t> pages, const PageSet& scored,
                       std::span<const double> scores, int threads) {
    const PageSet either = inside | scored;
    std::vector<InnerLinks> parts(pages.size() / kBlock + 1);
    parallel_blocks(static_cast<std::int64_t>(pages.size()), threads, kBlock, [&](std::int64_t first, std::int64_t last) {
        InnerFinder finder(inside, scored, either, scores);
        for (std::span<const std::int64_t> some = pages.subspan(first, last - first); !some.empty();)
            some = some.subspan(finder.add(lists, some));
        parts[first / kBlock] = std::move(finder.found);
    });
    for (std::size_t i = 1; i < parts.size(); ++i) append(parts[0], parts[i]);
    return std::move(parts[0]);
}

}  // namespace pippin
