// A measure is a pure function of one query's list and the rules in force. It knows gain and discount tables,
// never tools; it returns NaN where it is undefined (nothing relevant), and the caller decides what that counts.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace pippin {

inline constexpr std::int32_t kUnjudged = std::numeric_limits<std::int32_t>::min();
inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// One query: labels in rank order and every judged label.
struct RankedList {
    std::span<const std::int32_t> labels;  // in rank order, kUnjudged if not judged
    std::span<const std::uint8_t> tied;    // 1 where the score equals the one before; empty: the order is settled
    std::span<const std::int32_t> pool;    // all judged labels, descending
    double ideal = 0.0;                    // DCG of the best ranking, where the caller has it; 0: to be computed

    std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

enum class ShortPrecision : int { over_cutoff = 0, over_list = 1, zero = 2 };
enum class Denominator : int { judged = 0, list = 1, judged_at_cutoff = 2, found = 3, shortest = 4 };
enum class IdealCut : int { cutoff = 0, list = 1, none = 2 };
enum class RecallDenominator : int { judged = 0, cutoff = 1 };
enum class RecallCut : int { up = 0, nearest = 1 };

// The kernel parameters that follow from a convention and a measure's own parameters.
struct Rules {
    std::span<const double> gains;        // by label; a label below 0 gains nothing
    std::span<const double> multipliers;  // a document at position i counts gain · multiplier[i] / divisor[i]:
    std::span<const double> divisors;     // two tables, because the tools differ in the order of operations
    std::int64_t cutoff = 0;              // 0: the whole list
    std::int32_t relevant_at = 1;         // relevant: label >= relevant_at
    bool ideal_from_list = false;         // the ideal ranking knows only what was retrieved
    bool short_is_zero = false;           // DCG, NDCG at k of a list shorter than k
    ShortPrecision short_precision = ShortPrecision::over_cutoff;
    Denominator denominator = Denominator::judged;  // of average precision
    bool undefined_at_cutoff = false;     // AP is undefined where nothing relevant is above the cutoff
    double top_gain = 16.0;               // ERR: stopping probability = gain / top_gain; 0: the query's own top
    double parameter = 0.0;               // the measure's own number: persistence, recall level, beta
    std::span<const double> numbers;      // the measure's own list of numbers, where it has one
    RecallCut recall_cut = RecallCut::up; // which relevant document reaches a recall level
    IdealCut ideal_cut = IdealCut::cutoff;  // how deep the ideal ranking of NDCG goes
    RecallDenominator recall_denominator = RecallDenominator::judged;
    bool negative_gains = false;          // in DCG and NDCG a label below 0 gains what it is

    bool relevant(std::int32_t label) const { return label >= relevant_at; }
    double gain(std::int32_t label) const { return label > 0 ? gains[static_cast<std::size_t>(label)] : 0.0; }
    double signed_gain(std::int32_t label) const {
        return negative_gains && label < 0 && label != kUnjudged ? static_cast<double>(label) : gain(label);
    }
    std::int64_t depth(std::int64_t size) const { return cutoff > 0 && cutoff < size ? cutoff : size; }
};

using Scratch = std::vector<double>;  // working memory that one thread reuses from query to query
using Measure = double (*)(const RankedList&, const Rules&, Scratch&);

// The measure of that name, or nullptr.
Measure find_measure(std::string_view name);

// The parts of measures that training needs too: a formula lives in one place.
double ideal_dcg(const RankedList& list, const Rules& rules, Scratch& scratch);  // DCG of the best ranking
bool too_short(const RankedList& list, const Rules& rules);                     // DCG and NDCG are 0 by rule
double ap_denominator(const RankedList& list, const Rules& rules);  // of average precision; 0 where it is undefined
double err_top(const RankedList& list, const Rules& rules);  // what a gain is divided by to stop a user

// values[q] = measure(query q). Parallel over queries.
void measure_lists(Measure measure, const Rules& rules, std::span<const std::int32_t> labels,
                   std::span<const std::uint8_t> tied, std::span<const std::int64_t> offsets,
                   std::span<const std::int32_t> pool, std::span<const std::int64_t> pool_offsets, std::span<double> values,
                   int threads);

}  // namespace pippin
