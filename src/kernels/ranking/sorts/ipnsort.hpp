// The unstable sort of Rust's standard library since 1.81, ipnsort, step by step, for elements of no more than 8 bytes: where
// it leaves equal elements is part of some tools' numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "ranking/sorts/introsort.hpp"

namespace pippin {
namespace ipnsort_detail {

constexpr std::size_t kInserted = 20;  // whole lists up to this length are sorted by insertion
constexpr std::size_t kShort = 32;  // stretches up to this length by networks, insertion and a merge
constexpr std::size_t kUnmerged = 17;  // of these, up to this length without the merge
constexpr std::size_t kSampled = 64;  // from this length on a pivot is a median of medians

// Exchanges of the smallest known networks for 9 and for 13 elements.
using Exchange = std::pair<std::uint8_t, std::uint8_t>;
constexpr std::array<Exchange, 25> kOf9 = {{{0, 3}, {1, 7}, {2, 5}, {4, 8}, {0, 7}, {2, 4}, {3, 8}, {5, 6}, {0, 2},
                                            {1, 3}, {4, 5}, {7, 8}, {1, 4}, {3, 6}, {5, 7}, {0, 1}, {2, 4}, {3, 5},
                                            {6, 8}, {2, 3}, {4, 5}, {6, 7}, {1, 2}, {3, 4}, {5, 6}}};
constexpr std::array<Exchange, 45> kOf13 = {{{0, 12}, {1, 10}, {2, 9},   {3, 7},   {5, 11}, {6, 8}, {1, 6},  {2, 3},   {4, 11},
                                             {7, 9},  {8, 10}, {0, 4},   {1, 2},   {3, 6},  {7, 8}, {9, 10}, {11, 12}, {4, 6},
                                             {5, 9},  {8, 11}, {10, 12}, {0, 5},   {3, 8},  {4, 7}, {6, 11}, {9, 10},  {0, 1},
                                             {2, 5},  {6, 9},  {7, 8},   {10, 11}, {1, 3},  {2, 4}, {5, 6},  {9, 10},  {1, 2},
                                             {3, 4},  {5, 7},  {6, 8},   {2, 3},   {4, 5},  {6, 7}, {8, 9},  {3, 4},   {5, 6}}};

// A network for the first elements, and the others inserted.
template <typename T, typename Less>
void sort_short(std::span<T> items, Less& less) {
    const auto exchange = [&](Exchange pair) {
        if (less(items[pair.second], items[pair.first])) std::swap(items[pair.first], items[pair.second]);
    };
    if (items.size() >= 13) std::for_each(kOf13.begin(), kOf13.end(), exchange);
    else if (items.size() >= 9) std::for_each(kOf9.begin(), kOf9.end(), exchange);
    introsort_detail::insert_each(items, less);
}

template <typename T, typename Less>
void sort_stretch(std::span<T> items, Less& less) {
    if (items.size() <= kUnmerged) return sort_short(items, less);
    const std::size_t half = items.size() / 2;
    sort_short(items.first(half), less);
    sort_short(items.subspan(half), less);
    std::inplace_merge(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(half), items.end(), less);
}

// A heap with the largest element first, taken down from its end.
template <typename T, typename Less>
void sort_by_heap(std::span<T> items, Less& less) {
    const auto sift = [&](std::size_t node, std::size_t size) {
        for (std::size_t child = 2 * node + 1; child < size; node = child, child = 2 * node + 1) {
            if (child + 1 < size && less(items[child], items[child + 1])) ++child;
            if (!less(items[node], items[child])) return;
            std::swap(items[node], items[child]);
        }
    };
    for (std::size_t node = items.size() / 2; node-- > 0;) sift(node, items.size());
    for (std::size_t size = items.size(); size-- > 0;) {
        std::swap(items[0], items[size]);
        sift(0, size);
    }
}

// The middle one of three, each of which is, where its eighth is long enough, the middle one of three in it.
template <typename T, typename Less>
const T* middle(const T* a, const T* b, const T* c, std::size_t eighth, Less& less) {
    if (eighth * 8 >= kSampled) {
        const std::size_t part = eighth / 8;
        const auto within = [&](const T* from) { return middle(from, from + part * 4, from + part * 7, part, less); };
        a = within(a), b = within(b), c = within(c);
    }
    const bool before = less(*a, *b);
    if (before != less(*a, *c)) return a;
    return less(*b, *c) != before ? c : b;
}

template <typename T, typename Less>
std::size_t choose_pivot(std::span<const T> items, Less& less) {
    const std::size_t eighth = items.size() / 8;
    const T* from = items.data();
    const std::size_t sampled = items.size() < kSampled ? 0 : eighth;
    return static_cast<std::size_t>(middle(from, from + eighth * 4, from + eighth * 7, sampled, less) - from);
}

// Puts elements that are `before` the pivot in front of it, and returns its place. Every element goes to the end of those
// in front, whose place's element fills the gap that the one looked at before has left.
template <typename T, typename Before>
std::size_t split(std::span<T> items, std::size_t pivot, Before before) {
    std::swap(items[0], items[pivot]);
    const std::span<T> others = items.subspan(1);
    if (others.empty()) return 0;
    const T first = others[0];
    std::size_t gap = 0, front = 0;
    const auto place = [&](const T item) {
        others[gap] = others[front];
        others[front] = item;
        front += before(item, items[0]);
    };
    for (std::size_t at = 1; at < others.size(); gap = at++) place(others[at]);
    place(first);
    std::swap(items[0], items[front]);
    return front;
}

// `bound` is the pivot in front of the stretch, where there is one.
template <typename T, typename Less>
void sort_split(std::span<T> items, std::optional<T> bound, int depth, Less& less) {
    while (items.size() > kShort) {
        if (depth-- == 0) return sort_by_heap(items, less);
        const std::size_t pivot = choose_pivot(std::span<const T>(items), less);
        if (bound && !less(*bound, items[pivot])) {  // the least there is: those that equal it are in their place
            const std::size_t equal = split(items, pivot, [&](const T& a, const T& b) { return !less(b, a); });
            items = items.subspan(equal + 1);
            bound.reset();
            continue;
        }
        const std::size_t cut = split(items, pivot, less);
        sort_split(items.first(cut), bound, depth, less);
        bound = items[cut];
        items = items.subspan(cut + 1);
    }
    sort_stretch(items, less);
}

}  // namespace ipnsort_detail

template <typename T, typename Less>
void ipnsort(std::span<T> items, Less less) {
    using namespace ipnsort_detail;
    if (items.size() <= kInserted) return introsort_detail::insert_each(items, less);
    if (std::is_sorted(items.begin(), items.end(), less)) return;
    const auto not_after = [&](const T& a, const T& b) { return !less(b, a); };
    if (std::adjacent_find(items.begin(), items.end(), not_after) == items.end())
        return std::reverse(items.begin(), items.end());
    sort_split(items, std::optional<T>(), introsort_detail::deepest(items.size()), less);
}

}  // namespace pippin
