#include "scoring/linear.hpp"

#include <stdexcept>

namespace pippin {
namespace {

template <bool Single>
double rounded(double value) {
    return Single ? static_cast<double>(static_cast<float>(value)) : value;
}

template <bool SingleFeatures, bool SingleSums>
void add_up(const WeightedSum& terms, std::span<const double> table, std::size_t features, std::span<double> scores) {
    for (std::size_t row = 0; row < scores.size(); ++row) {
        const double* const values = table.data() + row * features;
        double total = terms.start;
        for (std::size_t i = 0; i < terms.columns.size(); ++i) {
            double value = rounded<SingleFeatures>(values[terms.columns[i]]);
            if (terms.missing_is_zero && value != value) value = 0.0;
            total = rounded<SingleSums>(total + rounded<SingleSums>(value * terms.weights[i]));
        }
        scores[row] = total;
    }
}

}  // namespace

void linear_scores(const WeightedSum& terms, std::span<const double> table, std::int64_t features, std::span<double> scores) {
    if (terms.columns.size() != terms.weights.size()) throw std::invalid_argument("there are not as many weights as columns");
    for (const std::int32_t column : terms.columns)
        if (column < 0 || column >= features) throw std::invalid_argument("a weight is of a feature that is not there");
    const auto width = static_cast<std::size_t>(features);
    if (terms.single_features)
        terms.single_sums ? add_up<true, true>(terms, table, width, scores) : add_up<true, false>(terms, table, width, scores);
    else
        terms.single_sums ? add_up<false, true>(terms, table, width, scores)
                          : add_up<false, false>(terms, table, width, scores);
}

}  // namespace pippin
