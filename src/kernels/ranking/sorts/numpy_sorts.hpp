// NumPy's argsort and argpartition, step by step: where they leave equal elements is part of some tools' numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace pippin {

constexpr std::size_t kNetwork = 256;  // NumPy sorts longer lists in another way

// Upwards, as the bitonic network does that NumPy's vectorised argsort is for short lists. A list that is shorter than the
// network is filled up with elements behind all others, which never move, so that it is enough to leave them out.
template <typename T, typename Less>
void bitonic_sort(std::span<T> items, Less less) {
    const auto exchange = [&](std::size_t i, std::size_t j) {
        if (j < items.size() && less(items[j], items[i])) std::swap(items[i], items[j]);
    };
    const std::size_t size = std::bit_ceil(items.size());
    for (std::size_t block = 2; block <= size; block *= 2) {
        for (std::size_t begin = 0; begin < size; begin += block)
            for (std::size_t i = 0; i < block / 2; ++i) exchange(begin + i, begin + block - 1 - i);
        for (std::size_t apart = block / 4; apart > 0; apart /= 2)
            for (std::size_t begin = 0; begin < size; begin += 2 * apart)
                for (std::size_t i = begin; i < begin + apart; ++i) exchange(i, i + apart);
    }
}

// Introselect, one place after the other: each position ends with the value that it has in sorted order.
template <typename T, typename Less>
class Introselect {
  public:
    Introselect(std::span<T> items, Less less) : items_(items), less_(less) {}

    // Positions are processed in ascending order.
    void settle(std::size_t place) {
        std::size_t low = 0, high = items_.size() - 1;
        while (!pivots_.empty() && pivots_.back() < place) {
            low = pivots_.back() + 1;
            pivots_.pop_back();
        }
        if (!pivots_.empty()) {
            if (pivots_.back() == place) return;
            high = pivots_.back() - 1;
        }
        if (place - low < 3) return take_least(low, high, place);
        if (place == items_.size() - 1) return take_largest(low);
        narrow(low, high, place);
        pivots_.push_back(place);
    }

  private:
    void swap(std::size_t i, std::size_t j) { std::swap(items_[i], items_[j]); }
    bool before(std::size_t i, std::size_t j) { return less_(items_[i], items_[j]); }

    void take_least(std::size_t low, std::size_t high, std::size_t place) {
        for (std::size_t i = low; i <= place; ++i) {
            std::size_t least = i;
            for (std::size_t k = i + 1; k <= high; ++k)
                if (before(k, least)) least = k;
            swap(i, least);
        }
        pivots_.push_back(place);
    }

    void take_largest(std::size_t low) {
        std::size_t largest = low;
        for (std::size_t k = low + 1; k < items_.size(); ++k)
            if (!before(k, largest)) largest = k;
        swap(items_.size() - 1, largest);
    }

    // Splits at the middle one of three until two elements are left. Where that makes little progress NumPy goes over to
    // medians of five; ties do not lead there, for they are parted evenly.
    void narrow(std::size_t low, std::size_t high, std::size_t place) {
        while (low + 1 < high) {
            const auto [left, right] = split(low, high);
            if (right > place) pivots_.push_back(right);
            if (right >= place) high = right - 1;
            if (right <= place) low = left;
        }
        if (high == low + 1 && before(high, low)) swap(high, low);
    }

    std::pair<std::size_t, std::size_t> split(std::size_t low, std::size_t high) {
        const std::size_t middle = low + (high - low) / 2;
        if (before(high, middle)) swap(high, middle);
        if (before(high, low)) swap(high, low);
        if (before(low, middle)) swap(low, middle);
        swap(middle, low + 1);
        std::size_t left = low + 1, right = high;
        while (true) {
            do ++left;
            while (before(left, low));
            do --right;
            while (before(low, right));
            if (right < left) break;
            swap(left, right);
        }
        swap(low, right);
        return {left, right};
    }

    std::span<T> items_;
    Less less_;
    std::vector<std::size_t> pivots_;  // settled places from the last one asked for on, the nearest at the end
};

// argpartition for the last `count` places, upwards; NumPy has vectors for one place, and sorts short lists for it.
template <typename T, typename Less>
void select_last(std::span<T> items, std::size_t count, Less less) {
    if (count == 1 && items.size() <= kNetwork) return bitonic_sort(items, less);
    Introselect<T, Less> select(items, less);
    for (std::size_t place = items.size() - count; place < items.size(); ++place) select.settle(place);
}

}  // namespace pippin
