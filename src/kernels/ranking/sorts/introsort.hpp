// The sort of the GNU C++ library, step by step: what it does with equal elements is part of some tools' numbers, and other
// libraries' std::sort does something else with them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>

namespace pippin {
namespace introsort_detail {

constexpr std::size_t kSmall = 16;  // stretches up to this length are left to the insertion sort at the end

// Puts the middle one of three elements at the front of the stretch, by a swap.
template <typename T, typename Less>
void choose_pivot(std::span<T> items, Less& less) {
    std::size_t a = 1, b = items.size() / 2, c = items.size() - 1;
    if (!less(items[a], items[b])) std::swap(a, b);
    std::size_t middle = b;
    if (!less(items[b], items[c])) middle = less(items[a], items[c]) ? c : a;
    std::swap(items[0], items[middle]);
}

// Elements up to the returned place are not after the pivot at the front, the others not before it.
template <typename T, typename Less>
std::size_t split(std::span<T> items, Less& less) {
    choose_pivot(items, less);
    std::size_t low = 1, high = items.size();
    while (true) {
        while (less(items[low], items[0])) ++low;
        --high;
        while (less(items[0], items[high])) --high;
        if (low >= high) return low;
        std::swap(items[low++], items[high]);
    }
}

template <typename T, typename Less>
void sort_roughly(std::span<T> items, int depth, Less& less) {
    while (items.size() > kSmall) {
        if (depth-- == 0) {
            std::make_heap(items.begin(), items.end(), less);
            std::sort_heap(items.begin(), items.end(), less);
            return;
        }
        const std::size_t cut = split(items, less);
        sort_roughly(items.subspan(cut), depth, less);
        items = items.first(cut);
    }
}

// A stable sort by insertion.
template <typename T, typename Less>
void insert_each(std::span<T> items, Less& less) {
    for (std::size_t i = 1; i < items.size(); ++i) {
        T moving = items[i];
        std::size_t at = i;
        for (; at > 0 && less(moving, items[at - 1]); --at) items[at] = items[at - 1];
        items[at] = moving;
    }
}

inline int deepest(std::size_t size) { return 2 * (static_cast<int>(std::bit_width(size)) - 1); }

}  // namespace introsort_detail

// std::sort.
template <typename T, typename Less>
void introsort(std::span<T> items, Less less) {
    if (items.empty()) return;
    introsort_detail::sort_roughly(items, introsort_detail::deepest(items.size()), less);
    introsort_detail::insert_each(items, less);
}

// The first k in order, as PyTorch's topk leaves them: a partial sort where k is small, else std::nth_element and std::sort.
template <typename T, typename Less>
void top_k(std::span<T> items, std::size_t k, Less less) {
    if (k == 0 || items.empty()) return;
    if (k * 64 <= items.size()) {
        std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(k), items.end(), less);
        return;
    }
    std::span<T> stretch = items;
    std::size_t before = 0;
    for (int depth = introsort_detail::deepest(items.size()); stretch.size() > 3; --depth) {
        if (depth == 0) {
            std::nth_element(stretch.begin(), stretch.begin() + static_cast<std::ptrdiff_t>(k - 1 - before), stretch.end(),
                             less);
            break;
        }
        const std::size_t cut = introsort_detail::split(stretch, less);
        if (before + cut <= k - 1) {
            stretch = stretch.subspan(cut);
            before += cut;
        } else {
            stretch = stretch.first(cut);
        }
    }
    if (stretch.size() <= 3) introsort_detail::insert_each(stretch, less);
    introsort(items.first(k - 1), less);
}

}  // namespace pippin
