#include "index/top_k.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace pippin {
namespace {

constexpr std::size_t kFew = 64;  // hits that are sorted as they are

// As many ranges of scores as there are hits, equally wide, from the best score to the worst.
class Ranges {
  public:
    explicit Ranges(std::span<const Hit> hits) {
        double worst = hits[0].score;
        for (const Hit& hit : hits) best_ = std::max(best_, hit.score), worst = std::min(worst, hit.score);
        last_ = static_cast<double>(hits.size() - 1);
        if (best_ > worst) scale_ = last_ / (best_ - worst);
    }

    // Never falls while scores fall, whatever is rounded. The infinite scores of a damaged index are in the last range.
    std::size_t of(const Hit& hit) const {
        const double range = (best_ - hit.score) * scale_;
        return static_cast<std::size_t>(static_cast<std::int64_t>(range < last_ ? range : last_));
    }

    // The number of hits in better ranges, for every range.
    std::vector<std::size_t> starts(std::span<const Hit> hits) const {
        std::vector<std::size_t> found(hits.size() + 1, 0);
        for (const Hit& hit : hits) ++found[of(hit) + 1];
        for (std::size_t i = 1; i < found.size(); ++i) found[i] += found[i - 1];
        return found;
    }

  private:
    double best_ = -std::numeric_limits<double>::infinity(), last_ = 0, scale_ = 0;
};

// Sorts by ranks below `limit`, digit after digit.
void sort_by_rank(std::vector<Hit>& hits, std::size_t limit) {
    std::vector<Hit> dealt(hits.size());
    for (int shift = 0; shift < 32 && (limit - 1) >> shift > 0; shift += 8) {
        std::array<std::uint32_t, 257> starts{};
        const auto digit = [shift](const Hit& hit) { return hit.rank >> shift & 255; };
        for (const Hit& hit : hits) ++starts[digit(hit) + 1];
        for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
        for (const Hit& hit : hits) dealt[starts[digit(hit)]++] = hit;
        hits.swap(dealt);
    }
}

// Equal scores are mostly in order already.
void sort_unsorted(std::vector<Hit>::iterator first, std::vector<Hit>::iterator last) {
    if (!std::is_sorted(first, last, kBetter)) std::sort(first, last, kBetter);
}

}  // namespace

// Sorts the best hits by bucket: hits are distributed to as many score ranges as there are hits; those of the ranges
// that matter are distributed again, so that hardly anything remains to be sorted.
std::vector<Hit> TopK::in_order() && {
    const std::size_t wanted = std::min(wanted_, hits_.size());
    if (hits_.size() > kFew) {
        const Ranges ranges(hits_);
        std::vector<std::size_t> starts = ranges.starts(hits_);
        std::erase_if(hits_, [&](const Hit& hit) { return starts[ranges.of(hit)] >= wanted; });
        sort_by_rank(hits_, ranks_);
        std::vector<Hit> dealt(hits_.size());
        for (const Hit& hit : hits_) dealt[starts[ranges.of(hit)]++] = hit;
        for (std::size_t range = 0, first = 0; first < dealt.size(); first = starts[range++])
            sort_unsorted(dealt.begin() + first, dealt.begin() + starts[range]);
        hits_.swap(dealt);
    } else {
        std::sort(hits_.begin(), hits_.end(), kBetter);
    }
    hits_.resize(wanted);
    return std::move(hits_);
}

void TopK::forget_worse() {
    if (hits_.size() < wanted_) return;
    const auto nth = hits_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
    std::nth_element(hits_.begin(), nth, hits_.end(), kBetter);
    worst_ = *nth;
    hits_.resize(wanted_);
}

}  // namespace pippin
