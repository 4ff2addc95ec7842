#include "measures/objective.hpp"

#include <cmath>

#include "parallel.hpp"

namespace pippin {
namespace {

std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

template <typename T>
std::vector<T> copy(std::span<const T> source) {
    return {source.begin(), source.end()};
}

}  // namespace

Objective::Objective(Measure measure, const Rules& rules, const ObjectiveSettings& settings,
                     std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets,
                     std::span<const std::int32_t> pool, const Texts& ids)
    : measure_(measure), gains_(copy(rules.gains)), multipliers_(copy(rules.multipliers)), divisors_(copy(rules.divisors)),
      numbers_(copy(rules.numbers)), rules_(rules), settings_(settings), labels_(copy(labels)), pool_(copy(pool)),
      offsets_(copy(offsets)), id_buffer_(copy(ids.buffer)), id_starts_(copy(ids.starts)), id_lengths_(copy(ids.lengths)),
      left_out_(offsets.size() - 1, 0), ideals_(offsets.size() - 1, 0.0) {
    rules_.gains = gains_;
    rules_.multipliers = multipliers_;
    rules_.divisors = divisors_;
    rules_.numbers = numbers_;
    if (measure_ == find_measure("ndcg")) find_ideals();
    for (std::int64_t q = 0; q < queries(); ++q)
        left_out_[size_of(q)] = left_out(pool_of(q), rules_.relevant_at, settings_.settling);
}

void Objective::find_ideals() {
    Desk desk;
    for (std::int64_t q = 0; q < queries(); ++q) {
        desk.ranked.assign(labels_.begin() + first(q), labels_.begin() + last(q));
        ideals_[size_of(q)] = ideal_dcg(list_of(q, desk.ranked), rules_, desk.scratch);
    }
}

RankedList Objective::list_of(std::int64_t q, const std::vector<std::int32_t>& ranked) const {
    return {ranked, {}, pool_of(q), ideals_[size_of(q)]};
}

void Objective::rank(Desk& desk) const {
    const auto label_of = [&](std::int64_t row) { return labels_[size_of(row)]; };
    sort_entries(desk.entries, {id_buffer_, id_starts_, id_lengths_}, settings_.rule, label_of);
    desk.ranked.resize(desk.entries.size());
    desk.tied.resize(desk.entries.size());
    write_ranked(desk.entries, label_of, desk.ranked.data(), desk.tied.data());
}

double Objective::ranked_value(std::int64_t q, Desk& desk) const {
    if (left_out_[size_of(q)]) return kUndefined;
    RankedList list = list_of(q, desk.ranked);
    if (settings_.expected) list.tied = desk.tied;
    return settle(measure_(list, rules_, desk.scratch), settings_.settling);
}

double Objective::value(std::int64_t q, std::span<const double> scores, Desk& desk) const {
    desk.entries.clear();
    for (std::int64_t row = first(q); row < last(q); ++row)
        desk.entries.push_back({descending_key(scores[size_of(row)], settings_.rule.float32), row});
    rank(desk);
    return ranked_value(q, desk);
}

double Objective::labels_value(std::int64_t q, bool descending, Desk& desk) const {
    desk.ranked.assign(pool_.begin() + first(q), pool_.begin() + last(q));
    if (!descending) std::reverse(desk.ranked.begin(), desk.ranked.end());
    return measure_(list_of(q, desk.ranked), rules_, desk.scratch);
}

bool Objective::varies(std::int64_t q, Desk& desk) const {
    if (last(q) - first(q) < 2 || left_out_[size_of(q)]) return false;
    if (pool_[size_of(first(q))] == pool_[size_of(last(q) - 1)]) return false;
    const double best = labels_value(q, true, desk);
    return !std::isnan(best) && best != labels_value(q, false, desk);
}

void objective_values(const Objective& objective, std::span<const double> scores, std::span<double> values, int threads) {
    parallel_blocks(objective.queries(), threads, 256, [&](std::int64_t begin, std::int64_t end) {
        Desk desk;
        for (std::int64_t q = begin; q < end; ++q) values[size_of(q)] = objective.value(q, scores, desk);
    });
}

void objective_varies(const Objective& objective, std::span<std::uint8_t> varies, int threads) {
    parallel_blocks(objective.queries(), threads, 256, [&](std::int64_t begin, std::int64_t end) {
        Desk desk;
        for (std::int64_t q = begin; q < end; ++q) varies[size_of(q)] = objective.varies(q, desk);
    });
}

void objective_features(const Objective& objective, std::span<const double> features, std::int64_t width,
                        std::span<double> values, int threads) {
    const bool float32 = objective.rule().float32;
    parallel_blocks(objective.queries(), threads, 16, [&](std::int64_t begin, std::int64_t end) {
        Desk desk;
        for (std::int64_t q = begin; q < end; ++q)
            for (std::int64_t column = 0; column < 2 * width; ++column) {
                const double sign = column % 2 ? -1.0 : 1.0;
                desk.entries.clear();
                for (std::int64_t row = objective.first(q); row < objective.last(q); ++row)
                    desk.entries.push_back({descending_key(sign * features[size_of(row * width + column / 2)], float32), row});
                objective.rank(desk);
                values[size_of(column * objective.queries() + q)] = objective.ranked_value(q, desk);
            }
    });
}

}  // namespace pippin
