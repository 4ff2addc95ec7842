// Evaluates one measure repeatedly for changing scores, as rankers need it. Uses the ordering and measure functions of
// evaluation and owns copies of its data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measures/measures.hpp"
#include "ranking/order.hpp"
#include "ranking/rank.hpp"
#include "measures/query_value.hpp"

namespace pippin {

struct ObjectiveSettings {
    RankRule rule;
    bool expected = false;  // the order of ties is open: measures take the expectation
    QueryValueRule settling;
};

// Working memory that one thread reuses from query to query.
struct Desk {
    std::vector<Entry> entries;
    std::vector<std::int32_t> ranked;
    std::vector<std::uint8_t> tied;
    Scratch scratch;
};

class Objective {
  public:
    Objective(Measure measure, const Rules& rules, const ObjectiveSettings& settings, std::span<const std::int32_t> labels,
              std::span<const std::int64_t> offsets, std::span<const std::int32_t> pool, const Texts& ids);
    Objective(const Objective&) = delete;
    Objective& operator=(const Objective&) = delete;

    std::int64_t queries() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
    std::int64_t rows() const { return offsets_.back(); }
    std::int64_t first(std::int64_t q) const { return offsets_[static_cast<std::size_t>(q)]; }
    std::int64_t last(std::int64_t q) const { return offsets_[static_cast<std::size_t>(q + 1)]; }
    std::int32_t label(std::int64_t row) const { return labels_[static_cast<std::size_t>(row)]; }
    RankRule rule() const { return settings_.rule; }
    // Whether documents of one score stand in the order of their rows.
    bool ties_keep_rows() const { return settings_.rule.ties == Ties::input && !settings_.expected; }

    // Puts desk.entries, whose keys are filled in, into rank order; desk.ranked and desk.tied follow.
    void rank(Desk& desk) const;
    // The value of query q for what rank() left on the desk; NaN: left out of the mean.
    double ranked_value(std::int64_t q, Desk& desk) const;
    // The value of query q for scores of all documents.
    double value(std::int64_t q, std::span<const double> scores, Desk& desk) const;
    // Whether the order of documents can change the value of query q: its labels differ, it is defined at least in the
    // order of labels, and that order is worth something else than the reverse.
    bool varies(std::int64_t q, Desk& desk) const;

  private:
    void find_ideals();
    std::span<const std::int32_t> pool_of(std::int64_t q) const {
        return std::span(pool_).subspan(static_cast<std::size_t>(first(q)), static_cast<std::size_t>(last(q) - first(q)));
    }
    RankedList list_of(std::int64_t q, const std::vector<std::int32_t>& ranked) const;
    double labels_value(std::int64_t q, bool descending, Desk& desk) const;

    Measure measure_;
    std::vector<double> gains_, multipliers_, divisors_, numbers_;
    Rules rules_;
    ObjectiveSettings settings_;
    std::vector<std::int32_t> labels_, pool_;
    std::vector<std::int64_t> offsets_;
    std::vector<std::uint8_t> id_buffer_;
    std::vector<std::int64_t> id_starts_;
    std::vector<std::int32_t> id_lengths_;
    std::vector<std::uint8_t> left_out_;
    std::vector<double> ideals_;  // by query, of NDCG: no order changes them
};

// values[q] = value of query q for these scores.
void objective_values(const Objective& objective, std::span<const double> scores, std::span<double> values, int threads);

// varies[q] = 1 where the order of documents can change the value of query q.
void objective_varies(const Objective& objective, std::span<std::uint8_t> varies, int threads);

// values[(2·f + s)·queries + q] = value of query q ranked by feature f, upwards (s = 0) or downwards (s = 1). `features`
// has `width` columns, a row per document.
void objective_features(const Objective& objective, std::span<const double> features, std::int64_t width,
                        std::span<double> values, int threads);

}  // namespace pippin
