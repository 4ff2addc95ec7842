#include "training/svmmap.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "parallel.hpp"

namespace pippin {
namespace {

// Finds the most violated ranking of one query after another; keeps its working memory.
class Oracle {
  public:
    // Δ of the ranking; coefficients as most_violated has them.
    double solve(std::span<const std::uint8_t> relevant, std::span<const double> scores, std::span<double> coefficients) {
        sort(relevant, scores);
        const std::int64_t m = count(better_), n = count(worse_);
        prepare(scores, m, n);
        places_.assign(worse_.size(), 0);
        divide(1, n, 1, m + 1);
        return spread(m, n, coefficients);
    }

  private:
    static std::int64_t count(const std::vector<std::int32_t>& rows) { return static_cast<std::int64_t>(rows.size()); }

    // Both kinds of documents by descending score; no other order within a kind can violate more.
    void sort(std::span<const std::uint8_t> relevant, std::span<const double> scores) {
        better_.clear();
        worse_.clear();
        for (std::size_t i = 0; i < scores.size(); ++i) {
            (relevant[i] ? better_ : worse_).push_back(static_cast<std::int32_t>(i));
        }
        const auto higher = [&](std::int32_t a, std::int32_t b) {
            const double x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
            return x > y || (x == y && a < b);
        };
        std::sort(better_.begin(), better_.end(), higher);
        std::sort(worse_.begin(), worse_.end(), higher);
    }

    // Prefix sums that make gain(j, k) a constant-time question: harmonic numbers, and scores of relevant documents.
    void prepare(std::span<const double> scores, std::int64_t m, std::int64_t n) {
        for (auto next = static_cast<std::int64_t>(harmonic_.size()); next <= m + n; ++next) {
            harmonic_.push_back(harmonic_.back() + 1.0 / static_cast<double>(next));
        }
        above_.assign(1, 0.0);
        for (const std::int32_t row : better_) above_.push_back(above_.back() + scores[static_cast<std::size_t>(row)]);
        others_.clear();
        for (const std::int32_t row : worse_) others_.push_back(scores[static_cast<std::size_t>(row)]);
        scale_ = 2.0 / static_cast<double>(n);
    }

    // m · Σ_{i=k..m} δ_j(i): what is won by putting the j-th other document before the k-th relevant one instead of last.
    // δ_j(i) = (1/m)(j/(j+i) − (j−1)/(j+i−1)) − 2(s_i − s_j)/(m n̄); the first parts sum to differences of harmonic numbers.
    double gain(std::int64_t j, std::int64_t k) const {
        const auto m = static_cast<std::int64_t>(better_.size());
        const auto h = [&](std::int64_t i) { return harmonic_[static_cast<std::size_t>(i)]; };
        const double precision =
            static_cast<double>(j) * (h(j + m) - h(j + k - 1)) - static_cast<double>(j - 1) * (h(j + m - 1) - h(j + k - 2));
        const double scores = above_[static_cast<std::size_t>(m)] - above_[static_cast<std::size_t>(k - 1)] -
                              static_cast<double>(m - k + 1) * others_[static_cast<std::size_t>(j - 1)];
        return precision - scale_ * scores;
    }

    // places_[j−1] = the best k for each j in [first, last], known to lie in [low, high]. δ_j(i) falls with j, so the best
    // place never moves up as j grows: the middle document's place splits the range for the two halves.
    void divide(std::int64_t first, std::int64_t last, std::int64_t low, std::int64_t high) {
        if (first > last) return;
        const std::int64_t middle = first + (last - first) / 2;
        std::int64_t best = high;
        double most = gain(middle, high);
        for (std::int64_t k = high - 1; k >= low; --k) {
            const double value = gain(middle, k);
            if (value > most) {
                most = value;
                best = k;
            }
        }
        places_[static_cast<std::size_t>(middle - 1)] = best;
        divide(first, middle - 1, low, best);
        divide(middle + 1, last, best, high);
    }

    double spread(std::int64_t m, std::int64_t n, std::span<double> coefficients) const {
        const double unit = 2.0 / (static_cast<double>(m) * static_cast<double>(n));
        double precision = 0.0;
        std::size_t above = 0;  // others above the relevant document at hand; places_ never falls
        for (std::int64_t i = 1; i <= m; ++i) {
            while (above < places_.size() && places_[above] <= i) ++above;
            precision += static_cast<double>(i) / static_cast<double>(i + static_cast<std::int64_t>(above));
            const auto row = static_cast<std::size_t>(better_[static_cast<std::size_t>(i - 1)]);
            coefficients[row] = unit * static_cast<double>(above);
        }
        for (std::size_t j = 0; j < places_.size(); ++j) {
            coefficients[static_cast<std::size_t>(worse_[j])] = -unit * static_cast<double>(m + 1 - places_[j]);
        }
        return 1.0 - precision / static_cast<double>(m);
    }

    std::vector<std::int32_t> better_, worse_;
    std::vector<std::int64_t> places_;
    std::vector<double> harmonic_{0.0}, above_, others_;
    double scale_ = 0.0;
};

struct Stretch {
    std::size_t first, size;
};

Stretch stretch(const Judged& data, std::int64_t query) {
    const auto q = static_cast<std::size_t>(query);
    return {static_cast<std::size_t>(data.offsets[q]), static_cast<std::size_t>(data.offsets[q + 1] - data.offsets[q])};
}

double dot(std::span<const double> x, std::span<const double> y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

}  // namespace

void most_violated(const Judged& data, std::span<const double> scores, std::span<double> coefficients, std::span<double> losses,
                   int threads) {
    parallel_blocks(static_cast<std::int64_t>(losses.size()), threads, 16, [&](std::int64_t first, std::int64_t last) {
        Oracle oracle;
        for (std::int64_t q = first; q < last; ++q) {
            const Stretch part = stretch(data, q);
            losses[static_cast<std::size_t>(q)] =
                oracle.solve(data.relevant.subspan(part.first, part.size), scores.subspan(part.first, part.size),
                             coefficients.subspan(part.first, part.size));
        }
    });
}

void frank_wolfe_pass(const Judged& data, std::span<const double> features, std::span<const std::int64_t> order,
                      double regularisation, const FrankWolfe& state) {
    const std::size_t width = state.weights.size();
    const auto queries = static_cast<double>(state.losses.size());
    Oracle oracle;
    std::vector<double> scores, coefficients, step(width);
    for (const std::int64_t q : order) {
        const Stretch part = stretch(data, q);
        const auto row = [&](std::size_t i) { return features.subspan((part.first + i) * width, width); };
        scores.resize(part.size);
        coefficients.resize(part.size);
        for (std::size_t i = 0; i < part.size; ++i) scores[i] = dot(row(i), state.weights);
        const double loss = oracle.solve(data.relevant.subspan(part.first, part.size), scores, coefficients) / queries;
        // step = w_q − w_s, with w_s = (Ψ* − Ψ) / (λ n)
        const auto block = state.blocks.subspan(static_cast<std::size_t>(q) * width, width);
        std::copy(block.begin(), block.end(), step.begin());
        for (std::size_t i = 0; i < part.size; ++i) {
            if (coefficients[i] == 0.0) continue;
            const double factor = coefficients[i] / (regularisation * queries);
            const auto x = row(i);
            for (std::size_t k = 0; k < width; ++k) step[k] -= factor * x[k];
        }
        double& own = state.losses[static_cast<std::size_t>(q)];
        const double curvature = regularisation * dot(step, step);
        const double slope = regularisation * dot(step, state.weights) - own + loss;
        const double gamma = curvature > 0.0 ? std::clamp(slope / curvature, 0.0, 1.0) : (slope > 0.0 ? 1.0 : 0.0);
        for (std::size_t k = 0; k < width; ++k) {
            block[k] -= gamma * step[k];
            state.weights[k] -= gamma * step[k];
        }
        own += gamma * (loss - own);
    }
}

}  // namespace pippin
