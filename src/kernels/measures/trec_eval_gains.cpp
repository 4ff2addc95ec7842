// The measures of trec_eval 9 and 10 that weigh documents by gains, which may be given label by label. An ideal ranking
// takes the judged documents by gain, in the order that trec_eval's own sort leaves them in.
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "measures/trec_eval_topic.hpp"

namespace pippin {
namespace {

// The judged labels of a query with their gains, in the order in which the ideal ranking takes them from the back.
struct Level {
    std::int32_t label;
    double gain;
    Count count;
};

// trec_eval hands qsort a difference of gains cut down to a whole number, so gains that differ by less than 1 stay as
// they were. glibc's qsort merges: halves are sorted, and equal ones are taken from the first.
void merge_sort_by_whole_gain(std::span<Level> levels) {
    if (levels.size() < 2) return;
    const auto half = levels.size() / 2;
    merge_sort_by_whole_gain(levels.first(half));
    merge_sort_by_whole_gain(levels.subspan(half));
    std::vector<Level> merged;
    auto a = levels.begin(), middle = levels.begin() + static_cast<std::ptrdiff_t>(half), b = middle;
    while (a != middle && b != levels.end()) merged.push_back(truncated<int>(a->gain - b->gain) <= 0 ? *a++ : *b++);
    merged.insert(merged.end(), a, middle);
    std::copy(merged.begin(), merged.end(), levels.begin());
}

class Gains {
  public:
    // With rules.numbers (label, gain, label, gain …), other labels are worth themselves; otherwise the table counts.
    Gains(const RankedList& list, const Rules& rules) {
        for (std::size_t i = 0; i + 1 < rules.numbers.size(); i += 2)
            levels_.push_back({static_cast<std::int32_t>(rules.numbers[i]), rules.numbers[i + 1], 0});
        auto next = list.pool.rbegin();  // lowest label first
        while (next != list.pool.rend() && *next < 0) ++next;
        for (std::int32_t label = 0; next != list.pool.rend(); ++label) {
            if (rules.numbers.empty()) label = *next;  // a label that is not there matters only to the quirk of sorting
            Count count = 0;
            for (; next != list.pool.rend() && *next == label; ++next) ++count;
            if (Level* given = find(label)) given->count = count;
            else levels_.push_back({label, rules.numbers.empty() ? rules.gain(label) : static_cast<double>(label), count});
        }
        if (rules.numbers.empty())
            std::stable_sort(levels_.begin(), levels_.end(), [](const Level& a, const Level& b) { return a.gain < b.gain; });
        else merge_sort_by_whole_gain(levels_);
    }

    double of(std::int32_t label) const {
        for (const Level& level : levels_)
            if (level.label == label) return level.gain;
        return 0.0;
    }

    std::vector<Level>& levels() { return levels_; }

  private:
    Level* find(std::int32_t label) {
        for (Level& level : levels_)
            if (level.label == label) return &level;
        return nullptr;
    }

    std::vector<Level> levels_;
};

// Walks down the ideal ranking: the gain of each next document, 0 when the worthwhile ones are used up.
class Ideal {
  public:
    explicit Ideal(Gains& gains) : levels_(gains.levels()), at_(static_cast<std::ptrdiff_t>(levels_.size()) - 1) {}

    double gain() const { return at_ >= 0 ? levels_[static_cast<std::size_t>(at_)].gain : 0.0; }
    bool more() const { return gain() > 0.0; }
    double next() {
        ++used_;
        while (at_ >= 0 && used_ > levels_[static_cast<std::size_t>(at_)].count) {
            used_ = 1;
            --at_;
        }
        return gain();
    }

  private:
    const std::vector<Level>& levels_;
    std::ptrdiff_t at_;
    Count used_ = 0;
};

double discount(Position i) { return std::log2(real(i + 2)); }

struct Discounted {
    double have = 0, best = 0;
};

Discounted discounted(const RankedList& list, const Rules& rules) {
    Gains gains(list, rules);
    Ideal ideal(gains);
    Discounted sums;
    for (Position i = 0; i < list.size(); ++i)
        if (const double gain = gains.of(trec_label_at(list, i)); gain != 0) sums.have += gain / discount(i);
    for (Position i = 0; ideal.more(); ++i)
        if (const double gain = ideal.next(); gain > 0) sums.best += gain / discount(i);
    return sums;
}

// NDCG with gains given label by label, as `-m ndcg.1=3.5,2=9` asks for.
double ndcg_of_gains(const RankedList& list, const Rules& rules, Scratch&) {
    const Discounted sums = discounted(list, rules);
    return sums.best > 0 ? sums.have / sums.best : kUndefined;
}

double dcg_of_gains(const RankedList& list, const Rules& rules, Scratch&) { return discounted(list, rules).have; }
double ideal_dcg(const RankedList& list, const Rules& rules, Scratch&) { return discounted(list, rules).best; }

// NDCG averaged over the relevant documents: at each one found, and at the end for each one missed.
double ndcg_at_relevant(const RankedList& list, const Rules& rules, Scratch&) {
    Gains gains(list, rules);
    Ideal ideal(gains);
    double have = 0, best = 0, sum = 0;
    Count found = 0, relevant = 0;
    Position i = 0;
    for (; i < list.size(); ++i) {
        const double gain = gains.of(trec_label_at(list, i));
        if (gain != 0) have += gain / discount(i);
        if (ideal.more()) {
            if (const double wanted = ideal.next(); wanted > 0) {
                ++relevant;
                best += wanted / discount(i);
            }
        }
        if (gain > 0) {
            sum += have / best;
            ++found;
        }
    }
    for (; ideal.more(); ++i) {
        if (const double wanted = ideal.next(); wanted > 0) {
            ++relevant;
            best += wanted / discount(i);
        }
    }
    if (relevant == 0) return kUndefined;
    sum += real(relevant - found) * have / best;
    return sum > 0 ? sum / real(relevant) : 0.0;
}

// NDCG averaged over the ranks at which the ideal ranking comes to a smaller gain.
double ndcg_at_levels(const RankedList& list, const Rules& rules, Scratch&) {
    if (judged_relevant(list, rules) == 0) return kUndefined;
    Gains gains(list, rules);
    Ideal ideal(gains);
    double have = 0, best = 0, sum = 0, before = ideal.gain();
    Count changes = 0;
    const auto note_change = [&](double wanted) {
        if (wanted != before && best > 0) {
            sum += have / best;
            ++changes;
        }
        before = wanted;
    };
    Position i = 0;
    for (; i < list.size() && ideal.more(); ++i) {
        const double gain = gains.of(trec_label_at(list, i)), wanted = ideal.next();
        note_change(wanted);
        if (gain != 0) have += gain / discount(i);
        if (wanted > 0) best += wanted / discount(i);
    }
    if (i < list.size()) {
        for (; i < list.size(); ++i)
            if (const double gain = gains.of(trec_label_at(list, i)); gain != 0) have += gain / discount(i);
        if (best > 0) {
            sum += have / best;
            ++changes;
        }
    }
    for (; ideal.more(); ++i) {
        const double wanted = ideal.next();
        note_change(wanted);
        if (wanted > 0) best += wanted / discount(i);
    }
    return sum / real(changes);
}

// G: a gain counts less the more gain an ideal ranking would have collected by then than this one did.
double normalised_gain(const RankedList& list, const Rules& rules, Scratch&) {
    Gains gains(list, rules);
    Ideal ideal(gains);
    constexpr double kLeastCost = 1.0;
    double sum = 0, have = 0, best = 0, cost = 0;
    for (Position i = 0; i < list.size(); ++i) {
        const double gain = gains.of(trec_label_at(list, i));
        have += gain;
        double wanted = 0;
        if (ideal.more()) {
            wanted = ideal.next();
            if (wanted > 0) best += wanted;
        }
        cost += wanted >= kLeastCost ? wanted : kLeastCost;
        if (gain != 0) sum += gain / std::log2(2 + cost - have);
    }
    while (ideal.more())
        if (const double wanted = ideal.next(); wanted > 0) best += wanted;
    return best > 0 ? sum / best : kUndefined;
}

// RBP with graded gains, brought into [0, 1] by the range of the query's own gains where they go beyond it.
double graded_rbp(const RankedList& list, const Rules& rules, Scratch&) {
    const double p = rules.parameter;
    Gains gains(list, rules);
    double least = 0, most = 0;
    for (const Level& level : gains.levels()) {
        least = std::min(least, level.gain);
        most = std::max(most, level.gain);
    }
    if (least < 0 || most > 1)
        for (Level& level : gains.levels()) level.gain = (level.gain - least) / (most - least);
    double weight = 1, sum = 0;
    for (Position i = 0; i < list.size(); ++i, weight *= p)
        if (const double gain = gains.of(trec_label_at(list, i)); gain != 0) sum += gain * weight;
    return (1.0 - p) * sum;
}

constexpr std::array<std::pair<std::string_view, Measure>, 7> kMeasures{{
    {"ndcg_of_gains", ndcg_of_gains},
    {"dcg_of_gains", dcg_of_gains},
    {"ideal_dcg", ideal_dcg},
    {"ndcg_rel", ndcg_at_relevant},
    {"Rndcg", ndcg_at_levels},
    {"G", normalised_gain},
    {"rbp_graded", graded_rbp},
}};

}  // namespace

Measure find_trec_gain_measure(std::string_view name) {
    for (const auto& [known, measure] : kMeasures)
        if (known == name) return measure;
    return nullptr;
}

}  // namespace pippin
