// Accumulators of a search: the partial BM25 sums of a range of documents, and the documents that have a sum.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace pippin {

inline constexpr std::size_t kRange = 32768;  // documents in one range, few enough for the first-level cache
inline constexpr double kEmpty = -0.0;        // the sum of no addition: no addition gives it, and every addition replaces it

inline bool is_empty(double sum) { return std::bit_cast<std::uint64_t>(sum) == std::bit_cast<std::uint64_t>(kEmpty); }

// Reusable buffers of accumulators. The caller of a search owns the pool, so that searches on several threads share it and
// do not allocate per query.
class AccumulatorPool {
  public:
    struct Buffers {
        std::vector<double> sums = std::vector<double>(kRange, kEmpty);
        std::vector<std::uint32_t> touched = std::vector<std::uint32_t>(kRange + 1), chosen = touched;
    };

    std::unique_ptr<Buffers> take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            free_.reserve(++size_);  // returning the buffers must not fail
            return std::make_unique<Buffers>();
        }
        std::unique_ptr<Buffers> buffers = std::move(free_.back());
        free_.pop_back();
        return buffers;
    }
    void give_back(std::unique_ptr<Buffers> buffers) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(buffers));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Buffers>> free_;
    std::size_t size_ = 0;
};

// A sum for every document of a range. Between two ranges all sums are empty: clear() resets only those that were touched.
class Accumulators {
  public:
    explicit Accumulators(AccumulatorPool& pool)
        : pool_(pool), buffers_(pool.take()), of_(buffers_->sums.data()), touched_(buffers_->touched.data()),
          chosen_(buffers_->chosen.data()) {}
    Accumulators(const Accumulators&) = delete;
    Accumulators& operator=(const Accumulators&) = delete;
    ~Accumulators() {
        clear();
        pool_.give_back(std::move(buffers_));
    }

    double& operator[](std::uint32_t document) { return of_[document % kRange]; }
    std::span<const std::uint32_t> touched() const { return {touched_, size_}; }
    std::span<const std::uint32_t> chosen() const { return {chosen_, chosen_size_}; }
    void clear() {
        for (const std::uint32_t document : touched()) of_[document % kRange] = kEmpty;
        size_ = chosen_size_ = 0;
    }
    // Adds to documents. A document without a sum becomes a candidate if the addition reaches `least`.
    void add(const std::uint32_t* documents, const double* added, std::size_t count, double least) {
        std::uint32_t *touched = touched_ + size_, *chosen = chosen_ + chosen_size_;
        double* const of = of_;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t document = documents[i];
            const double before = of[document % kRange], sum = before + added[i];
            const bool is_new = is_empty(before);
            of[document % kRange] = sum;
            *touched = *chosen = document;
            touched += is_new;
            chosen += is_new & (sum >= least);
        }
        size_ = static_cast<std::size_t>(touched - touched_);
        chosen_size_ = static_cast<std::size_t>(chosen - chosen_);
    }

  private:
    AccumulatorPool& pool_;
    std::unique_ptr<AccumulatorPool::Buffers> buffers_;
    double* of_;
    std::uint32_t *touched_, *chosen_;
    std::size_t size_ = 0, chosen_size_ = 0;
};

// Documents that have been scored.
class Seen {
  public:
    explicit Seen(std::size_t documents) : bits_(documents / 64 + 1, 0) {}
    void add(std::uint32_t document) { bits_[document / 64] |= std::uint64_t{1} << document % 64; }
    bool holds(std::size_t document) const { return bits_[document / 64] >> document % 64 & 1; }

  private:
    std::vector<std::uint64_t> bits_;
};

}  // namespace pippin
