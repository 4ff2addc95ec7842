#include "training/listwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "parallel.hpp"

namespace pippin {
namespace {

using std::int64_t;
using std::size_t;

constexpr int64_t block = 16;  // queries handed to a thread at a time

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

// ln(e^a + e^b)
double log_add(double a, double b) {
    const double high = std::max(a, b);
    return high == -std::numeric_limits<double>::infinity() ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

// body(query, scores of the query, its gradient set to 0, its first row) → its loss.
template <typename Body>
void each_query(const ScoredLists& lists, Body body) {
    const auto queries = static_cast<int64_t>(lists.offsets.size()) - 1;
    parallel_blocks(queries, lists.threads, block, [&](int64_t first, int64_t last) {
        for (int64_t q = first; q < last; ++q) {
            const auto at = static_cast<size_t>(lists.offsets[static_cast<size_t>(q)]);
            const auto size = static_cast<size_t>(lists.offsets[static_cast<size_t>(q) + 1]) - at;
            const auto gradient = lists.gradient.subspan(at, size);
            std::fill(gradient.begin(), gradient.end(), 0.0);
            lists.losses[static_cast<size_t>(q)] =
                size == 0 ? 0.0 : body(static_cast<size_t>(q), lists.scores.subspan(at, size), gradient, at);
        }
    });
}

struct Worth {
    double value, slope;
};

// The discount of a rank that need not be whole, and its derivative.
Worth worth(Discount discount, double rank) {
    using std::numbers::ln2;
    if (discount == Discount::reciprocal) return {1 / rank, -1 / (rank * rank)};
    if (discount == Discount::letor && rank <= 2) return {1, 0};  // LETOR's 1, 1, 1 / log2 r
    const double shifted = discount == Discount::letor ? rank : 1 + rank, log = std::log(shifted);
    return {ln2 / log, -ln2 / (shifted * log * log)};
}

}  // namespace

void cross_entropy(const ScoredLists& lists, std::span<const double> targets) {
    each_query(lists, [&](size_t, std::span<const double> scores, std::span<double> gradient, size_t at) {
        const double high = *std::max_element(scores.begin(), scores.end());
        double total = 0, wanted = 0;
        for (size_t i = 0; i < scores.size(); ++i) {
            gradient[i] = std::exp(scores[i] - high);
            total += gradient[i];
            wanted += targets[at + i] * (scores[i] - high);
        }
        for (size_t i = 0; i < scores.size(); ++i) gradient[i] = gradient[i] / total - targets[at + i];
        return std::log(total) - wanted;
    });
}

void list_likelihood(const ScoredLists& lists, std::span<const int64_t> order, int64_t depth) {
    each_query(lists, [&](size_t, std::span<const double> scores, std::span<double> gradient, size_t at) {
        const size_t size = scores.size(), places = depth > 0 ? std::min(size, static_cast<size_t>(depth)) : size;
        std::vector<double> remaining(size);  // ln Σ_{k≥t} e^{s(k)}
        const auto row = [&](size_t place) { return static_cast<size_t>(order[at + place]) - at; };
        double log = -std::numeric_limits<double>::infinity();
        for (size_t place = size; place-- > 0;) remaining[place] = log = log_add(log, scores[row(place)]);
        // ∂/∂s at place i: e^{s_i} Σ_{t≤i} 1 / Z_t, less 1 where the place counts; in logarithms, so that no Z vanishes.
        double loss = 0, inverse = -std::numeric_limits<double>::infinity();
        for (size_t place = 0; place < size; ++place) {
            const double score = scores[row(place)];
            const bool counts = place < places;
            if (counts) {
                inverse = log_add(inverse, -remaining[place]);
                loss += remaining[place] - score;
            }
            gradient[row(place)] = std::exp(score + inverse) - (counts ? 1.0 : 0.0);
        }
        return loss;
    });
}

void approx_ndcg(const ScoredLists& lists, std::span<const double> gains, std::span<const double> scales, double alpha,
                 Discount discount) {
    each_query(lists, [&](size_t query, std::span<const double> scores, std::span<double> gradient, size_t at) {
        const size_t size = scores.size();
        std::vector<double> ranks(size, 1.0), force(size);
        // Taken twice rather than kept: a query may have 10,000 documents.
        const auto below = [&](size_t i, size_t j) { return sigmoid(alpha * (scores[j] - scores[i])); };
        for (size_t i = 0; i < size; ++i) {
            for (size_t j = i + 1; j < size; ++j) {
                const double share = below(i, j);
                ranks[i] += share;
                ranks[j] += 1 - share;
            }
        }
        double value = 0;
        for (size_t i = 0; i < size; ++i) {
            const Worth found = worth(discount, ranks[i]);
            value += gains[at + i] * found.value;
            force[i] = scales[query] * gains[at + i] * found.slope;
        }
        for (size_t i = 0; i < size; ++i) {
            for (size_t j = i + 1; j < size; ++j) {
                if (force[i] == force[j]) continue;
                const double share = below(i, j), pull = alpha * share * (1 - share) * (force[i] - force[j]);
                gradient[i] += pull;
                gradient[j] -= pull;
            }
        }
        return -scales[query] * value;
    });
}

void tied_pairs(const ScoredLists& lists, std::span<const std::int32_t> labels, double sigma) {
    each_query(lists, [&](size_t, std::span<const double> scores, std::span<double> gradient, size_t at) {
        double loss = 0;
        for (size_t i = 0; i < scores.size(); ++i) {
            for (size_t j = i + 1; j < scores.size(); ++j) {
                if (labels[at + i] != labels[at + j]) continue;
                const double apart = sigma * (scores[i] - scores[j]);
                const double pull = sigma * (sigmoid(apart) - 0.5);
                loss += std::abs(apart) / 2 + std::log1p(std::exp(-std::abs(apart)));
                gradient[i] += pull;
                gradient[j] -= pull;
            }
        }
        return loss;
    });
}

}  // namespace pippin
