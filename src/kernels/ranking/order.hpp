// One list in rank order: the rule for scores, precision and ties, as evaluation and training share it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ranking/sorts/introsort.hpp"
#include "ranking/sorts/ipnsort.hpp"
#include "ranking/sorts/numpy_sorts.hpp"
#include "ranking/rank.hpp"

namespace pippin {

struct Entry {
    std::uint64_t key;  // ascending keys = descending scores
    std::int64_t row;
    bool operator<(const Entry& other) const { return key != other.key ? key < other.key : row < other.row; }
};

// Maps a score to an integer that sorts the other way round. −0 and 0 are one score.
inline std::uint64_t descending_key(double score, bool float32) {
    if (float32) score = static_cast<double>(static_cast<float>(score));
    if (score == 0) score = 0;
    const auto bits = std::bit_cast<std::uint64_t>(score);
    const auto ascending = (bits >> 63) ? ~bits : bits | (std::uint64_t{1} << 63);
    return ~ascending;
}

template <typename LabelOf>
void settle_ties(std::span<Entry> group, Ties ties, const Texts& ids, LabelOf&& label_of) {
    switch (ties) {
        case Ties::input:
        case Ties::introsort:  // these sort whole lists
        case Ties::introsort_by_label:
        case Ties::introsort_relevant_first:
        case Ties::introsort_twice:
        case Ties::topk:
        case Ties::topk_given:
        case Ties::argsort:
        case Ties::argsort_relevant_first:
        case Ties::argpartition:
        case Ties::ipnsort: return;
        case Ties::reversed: std::reverse(group.begin(), group.end()); return;
        case Ties::id_descending:
            std::sort(group.begin(), group.end(), [&](const Entry& a, const Entry& b) { return ids[a.row] > ids[b.row]; });
            return;
        case Ties::id_ascending:
            std::sort(group.begin(), group.end(), [&](const Entry& a, const Entry& b) { return ids[a.row] < ids[b.row]; });
            return;
        case Ties::best:
            std::stable_sort(group.begin(), group.end(),
                             [&](const Entry& a, const Entry& b) { return label_of(a.row) > label_of(b.row); });
            return;
        case Ties::worst:
            std::stable_sort(group.begin(), group.end(),
                             [&](const Entry& a, const Entry& b) { return label_of(a.row) < label_of(b.row); });
            return;
    }
}

// Sorts entries, which stand as given, as NumPy does: upwards, and then turned round. What a partition leaves behind the
// first `depth`, and lists that are too long for its network, stay as given where scores are equal.
inline void sort_as_numpy(std::vector<Entry>& entries, Ties ties, std::size_t depth) {
    const auto by_score = [](const Entry& a, const Entry& b) { return a.key < b.key; };
    const auto upwards = [](const Entry& a, const Entry& b) { return a.key > b.key; };
    const std::size_t whole = ties == Ties::argpartition ? depth : 1;
    if (entries.empty()) return;
    if (whole == 1 && entries.size() > kNetwork) return std::stable_sort(entries.begin(), entries.end(), by_score);
    select_last(std::span(entries), whole, upwards);
    std::reverse(entries.begin(), entries.end());
    if (ties != Ties::argpartition) return;
    const auto rest = entries.begin() + static_cast<std::ptrdiff_t>(depth);
    std::sort(rest, entries.end());
}

// Sorts entries as tools do whose sort keeps no order among equals; it begins with the order of the rows. Apart from the
// loop over lists, which most rules go through without it.
template <typename LabelOf>
[[gnu::noinline]] void sort_unstably(std::vector<Entry>& entries, RankRule rule, LabelOf&& label_of) {
    const auto by_score = [](const Entry& a, const Entry& b) { return a.key < b.key; };
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.row < b.row; });
    if (rule.ties == Ties::introsort_by_label)
        introsort(std::span(entries), [&](const Entry& a, const Entry& b) { return label_of(a.row) > label_of(b.row); });
    if (rule.ties == Ties::introsort_relevant_first || rule.ties == Ties::argsort_relevant_first)
        std::stable_partition(entries.begin(), entries.end(), [&](const Entry& entry) { return label_of(entry.row) > 0; });
    // torchmetrics sorts the documents by query before, where all are equal.
    if (rule.ties == Ties::introsort_twice || rule.ties == Ties::topk)
        introsort(std::span(entries), [](const Entry&, const Entry&) { return false; });
    // In a batch every list is filled up behind its documents, and those move among the filling.
    const Entry filling{descending_key(-std::numeric_limits<double>::infinity(), false), -1};
    if (rule.ties == Ties::introsort && rule.depth > entries.size()) entries.resize(rule.depth, filling);
    if (rule.ties < Ties::topk) introsort(std::span(entries), by_score);
    if (rule.ties == Ties::introsort) std::erase_if(entries, [](const Entry& entry) { return entry.row < 0; });
    if (rule.ties < Ties::topk) return;
    if (rule.ties == Ties::ipnsort) return ipnsort(std::span(entries), by_score);
    const std::size_t depth = rule.depth == 0 ? entries.size() : std::min(rule.depth, entries.size());
    if (rule.ties >= Ties::argsort) return sort_as_numpy(entries, rule.ties, depth);
    top_k(std::span(entries), depth, by_score);
    std::stable_sort(entries.begin() + static_cast<std::ptrdiff_t>(depth), entries.end(), by_score);
}

// Sorts entries into rank order and settles ties.
template <typename LabelOf>
void sort_entries(std::vector<Entry>& entries, const Texts& ids, RankRule rule, LabelOf&& label_of) {
    if (rule.ties >= Ties::introsort) return sort_unstably(entries, rule, label_of);
    // Runs usually come sorted; looking costs one pass.
    if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
    if (rule.ties == Ties::input) return;
    for (std::size_t begin = 0; begin < entries.size();) {
        std::size_t end = begin + 1;
        while (end < entries.size() && entries[end].key == entries[begin].key) ++end;
        if (end - begin > 1) settle_ties(std::span(entries).subspan(begin, end - begin), rule.ties, ids, label_of);
        begin = end;
    }
}

// Entries of rows [first, last) in rank order.
template <typename LabelOf>
void order_one(std::span<const double> scores, std::int64_t first, std::int64_t last, const Texts& ids, RankRule rule,
               LabelOf&& label_of, std::vector<Entry>& entries) {
    entries.resize(static_cast<std::size_t>(last - first));
    for (std::int64_t row = first; row < last; ++row)
        entries[static_cast<std::size_t>(row - first)] = {descending_key(scores[static_cast<std::size_t>(row)], rule.float32),
                                                          row};
    sort_entries(entries, ids, rule, label_of);
}

template <typename LabelOf>
void write_ranked(const std::vector<Entry>& entries, LabelOf&& label_of, std::int32_t* ranked, std::uint8_t* tied) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        ranked[i] = label_of(entries[i].row);
        tied[i] = i > 0 && entries[i].key == entries[i - 1].key;
    }
}

}  // namespace pippin
