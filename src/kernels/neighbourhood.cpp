#include "neighbourhood.hpp"

#include <algorithm>
#include <stdexcept>

namespace pippin {
namespace {

constexpr std::size_t kListsAhead = 8;

// Asks memory for the list of a page that is soon to be read: lists of some pages lie far apart.
void fetch_list(const Lists& lists, std::span<const std::int64_t> pages, std::size_t soon) {
    if (soon >= pages.size()) return;
    const char* list = reinterpret_cast<const char*>(lists.columns.data() + lists.offsets[pages[soon]]);
    for (int line = 0; line < 3; ++line) __builtin_prefetch(list + 64 * line);
}

// Some columns of a list, in room that is kept.
struct Some {
    std::vector<std::int32_t> columns;
    std::size_t count = 0;

    void clear(std::size_t most) {
        count = 0;
        if (columns.size() < most) columns.resize(most);
    }
    // Without a branch, which nobody could foresee: where the column is not taken, the next one takes its place.
    void take(std::int32_t column, bool taken) {
        columns[count] = column;
        count += taken;
    }
    std::span<const std::int32_t> all() const { return {columns.data(), count}; }
};

}  // namespace

PageSet::PageSet(std::int64_t pages) : pages_(pages), bits_((pages + 63) / 64), before_(bits_.size()) {}

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
                       std::span<const double> scores) {
    InnerLinks found;
    found.offsets = found.weighted_offsets = {0};
    Some inner, with_score;
    const auto limit = static_cast<std::uint32_t>(lists.size());
    for (std::size_t i = 0; i < pages.size(); ++i) {
        fetch_list(lists, pages, i + kListsAhead);
        const std::span<const std::int32_t> list = lists.of(pages[i]);
        inner.clear(list.size());
        with_score.clear(list.size());
        for (const std::int32_t column : list) {
            if (static_cast<std::uint32_t>(column) >= limit)
                throw std::invalid_argument("a link leads to a page that is not there");
            inner.take(column, inside.has(column));
            with_score.take(column, scored.has(column));
        }
        double total = 0.0;
        for (const std::int32_t column : with_score.all()) total += std::max(scores[scored.slot(column)], 0.0);
        for (const std::int32_t column : inner.all()) {
            found.columns.push_back(inside.slot(column));
            if (!scored.has(column)) continue;
            const double score = scores[scored.slot(column)];
            if (score <= 0.0) continue;
            found.weighted_columns.push_back(found.columns.back());
            found.weights.push_back(score / total);
        }
        found.offsets.push_back(static_cast<std::int64_t>(found.columns.size()));
        found.weighted_offsets.push_back(static_cast<std::int64_t>(found.weights.size()));
    }
    return found;
}

}  // namespace pippin
