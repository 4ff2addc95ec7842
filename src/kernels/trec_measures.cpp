// What trec_eval 9 and 10 compute besides the measures of the field. A document that nobody judged and one that was
// pooled but not judged (a label below 0) are told apart where trec_eval does. Sums run as its loops do, so that a value
// on the edge of rounding prints the same last digit. A value is undefined (NaN) where nothing is relevant and trec_eval
// divides by that; where it prints a NaN itself, the value is -NaN, as its processor makes it.
#include "trec_topic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace pippin {
namespace {

// How many relevant documents a recall level stands for: level · R rounded up (versions up to 9 add 0.9 and cut off), or
// to the nearest (version 10).
Count recall_cut(double level, Count relevant, RecallCut cut) {
    const double share = level * real(relevant);
    return truncated<Count>(cut == RecallCut::nearest ? std::round(share) : share + 0.9);
}

// Interpolated precision at recall levels: the best precision at or below the rank that reaches the level. The list is
// walked from its end, and the levels from the last one, which waits for its rank before the one before it is looked at.
void interpolate(const List& list, const Rules& rules, std::span<const double> levels, Scratch& values) {
    const Count relevant = judged_relevant(list, rules);
    Count hits = retrieved_relevant(list, rules, list.size());
    const auto cut = [&](std::size_t level) { return recall_cut(levels[level], relevant, rules.recall_cut); };
    values.assign(levels.size(), 0.0);
    std::size_t left = levels.size();
    while (left > 0 && cut(left - 1) > hits) --left;
    double best = list.size() > 0 ? real(hits) / real(list.size()) : -kUndefined;  // 0/0 in the original
    for (Position i = list.size(); i > 0 && hits > 0; --i) {
        best = std::max(best, real(hits) / real(i));
        if (!relevant_at(list, rules, i - 1)) continue;
        while (left > 0 && hits == cut(left - 1)) values[--left] = best;
        --hits;
    }
    while (left > 0) values[--left] = best;
}

double interpolated_precision(const List& list, const Rules& rules, Scratch& scratch) {
    interpolate(list, rules, {&rules.parameter, 1}, scratch);
    return scratch[0];
}

// Numbers: all levels; the parameter is the place of the one asked for.
double interpolated_precision_of(const List& list, const Rules& rules, Scratch& scratch) {
    interpolate(list, rules, rules.numbers, scratch);
    return scratch[static_cast<std::size_t>(rules.parameter)];
}

// The mean over all levels, the last one added first.
double mean_interpolated(const List& list, const Rules& rules, Scratch& scratch) {
    interpolate(list, rules, rules.numbers, scratch);
    double sum = 0;
    for (auto value = scratch.rbegin(); value != scratch.rend(); ++value) sum += *value;
    return sum / real(static_cast<Count>(rules.numbers.size()));
}

// Precision at multiples of R. Relevant documents are counted down from the end of the list, and the multiples looked at
// from the last one.
void multiples(const List& list, const Rules& rules, std::span<const double> wanted, Scratch& values) {
    const Count relevant = judged_relevant(list, rules);
    Count hits = retrieved_relevant(list, rules, list.size());
    const auto cut = [&](std::size_t place) { return truncated<Count>(wanted[place] * real(relevant) + 0.9); };
    values.assign(wanted.size(), 0.0);
    std::size_t left = wanted.size();
    for (; left > 0 && cut(left - 1) > list.size(); --left) values[left - 1] = real(hits) / real(cut(left - 1));
    for (Position i = list.size(); i > 0 && hits > 0; --i) {
        for (; left > 0 && i == cut(left - 1); --left) values[left - 1] = real(hits) / real(i);
        hits -= relevant_at(list, rules, i - 1);
    }
}

double r_precision_multiple(const List& list, const Rules& rules, Scratch& scratch) {
    multiples(list, rules, {&rules.parameter, 1}, scratch);
    return scratch[0];
}

// Numbers: all multiples; the parameter is the place of the one asked for.
double r_precision_multiple_of(const List& list, const Rules& rules, Scratch& scratch) {
    multiples(list, rules, rules.numbers, scratch);
    return scratch[static_cast<std::size_t>(rules.parameter)];
}

// Precision over the best possible precision at that cutoff.
double relative_precision(const List& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    if (relevant == 0) return kUndefined;
    const Position depth = rules.cutoff > 0 ? rules.cutoff : list.size();
    if (depth == 0) return 0.0;
    return real(retrieved_relevant(list, rules, depth)) / real(std::min(depth, relevant));
}

double set_map(const List& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules), size = list.size();
    if (relevant == 0) return kUndefined;
    if (size == 0) return 0.0;
    const Count hits = retrieved_relevant(list, rules, size);
    return (real(hits) * real(hits)) / (real(size) * real(relevant));
}

// (x + 1) P R / (x P + R), x the weight of recall.
double set_f(const List& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules), hits = retrieved_relevant(list, rules, list.size());
    if (relevant == 0) return kUndefined;
    if (hits == 0) return 0.0;
    const double precision = real(hits) / real(list.size()), recall = real(hits) / real(relevant), x = rules.parameter;
    return (x + 1.0) * precision * recall / (x * precision + recall);
}

// Numbers: worth of a relevant retrieved, a non-relevant retrieved, a relevant missed, a non-relevant missed document,
// and the size of the collection.
double utility(const List& list, const Rules& rules, Scratch&) {
    const Count hits = retrieved_relevant(list, rules, list.size()), relevant = judged_relevant(list, rules);
    const auto worth = rules.numbers;
    if (worth.size() != 5) return kUndefined;
    return worth[0] * real(hits) + worth[1] * real(list.size() - hits) + worth[2] * real(relevant - hits) +
           worth[3] * real(static_cast<Count>(worth[4]) + hits - list.size() - relevant);
}

// Mean over relevant documents of 1 / log2(2 + non-relevant documents above).
double binary_g(const List& list, const Rules& rules, Scratch&) {
    const Count relevant = judged_relevant(list, rules);
    Count hits = 0;
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i)
        if (relevant_at(list, rules, i)) sum += 1.0 / std::log2(real(3 + i - ++hits));
    return relevant > 0 || hits > 0 ? sum / real(relevant) : kUndefined;
}

// Inferred AP (Yilmaz & Aslam 2006): judgements are a sample of the pool, and documents outside it are not relevant.
double inferred_ap(const List& list, const Rules& rules, Scratch&) {
    constexpr double kEpsilon = 0.00001;
    const Count relevant = judged_relevant(list, rules);
    if (relevant == 0) return kUndefined;
    Count hits = 0, misses = 0, pooled = 0;
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i) {
        const std::int32_t label = label_at(list, i);
        if (label == -1) continue;
        if (label < 0) {
            ++pooled;
        } else if (!rules.relevant(label)) {
            ++misses;
        } else {
            const double above = real(i), found = real(hits++);
            if (i == 0) {
                sum += 1.0;
                continue;
            }
            sum += 1.0 / (above + 1.0) + (above / (above + 1.0)) * ((found + real(misses) + real(pooled)) / above) *
                                             ((found + kEpsilon) / (found + real(misses) + 2 * kEpsilon));
        }
    }
    return sum / real(relevant);
}

// Robertson 2012: log((1 + Σ) / (1 + R − Σ)) with Σ the sum that AP divides by R.
double yet_another_ap(const List& list, const Rules& rules, Scratch&) {
    Count hits = 0;
    double sum = 0;
    for (Position i = 0; i < list.size(); ++i)
        if (relevant_at(list, rules, i)) sum += real(++hits) / real(i + 1);
    return std::log((1.0 + sum) / (1.0 + real(judged_relevant(list, rules)) - sum));
}

double nonrelevant_retrieved(const List& list, const Rules& rules, Scratch&) {
    return real(std::count_if(list.labels.begin(), list.labels.end(),
                              [&](std::int32_t label) { return judged_nonrelevant(rules, label); }));
}

// Share of unjudged documents within the cutoff; missing documents count as judged.
double unjudged_share(const List& list, const Rules& rules, Scratch&) {
    const Position depth = rules.depth(list.size()), cutoff = rules.cutoff > 0 ? rules.cutoff : list.size();
    if (cutoff == 0) return 0.0;
    return real(std::count_if(list.labels.begin(), list.labels.begin() + depth, [](std::int32_t label) { return label < 0; })) /
           real(cutoff);
}

// By how much RBP could rise if every unjudged document were relevant: p^n + (1 − p) Σ p^(r−1) over unjudged ranks.
double rbp_residual(const List& list, const Rules& rules, Scratch&) {
    const double p = rules.parameter;
    double weight = 1, sum = 0;
    bool any = false;
    for (Position i = 0; i < list.size(); ++i, weight *= p) {
        if (label_at(list, i) < 0) {
            any = true;
            sum += weight;
        }
    }
    return any ? weight + (1 - p) * sum : 0.0;
}

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
    Gains(const List& list, const Rules& rules) {
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
        else
            merge_sort_by_whole_gain(levels_);
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

Discounted discounted(const List& list, const Rules& rules) {
    Gains gains(list, rules);
    Ideal ideal(gains);
    Discounted sums;
    for (Position i = 0; i < list.size(); ++i)
        if (const double gain = gains.of(label_at(list, i)); gain != 0) sums.have += gain / discount(i);
    for (Position i = 0; ideal.more(); ++i)
        if (const double gain = ideal.next(); gain > 0) sums.best += gain / discount(i);
    return sums;
}

// NDCG with gains given label by label, as `-m ndcg.1=3.5,2=9` asks for.
double ndcg_of_gains(const List& list, const Rules& rules, Scratch&) {
    const Discounted sums = discounted(list, rules);
    return sums.best > 0 ? sums.have / sums.best : kUndefined;
}

double dcg_of_gains(const List& list, const Rules& rules, Scratch&) { return discounted(list, rules).have; }
double ideal_dcg(const List& list, const Rules& rules, Scratch&) { return discounted(list, rules).best; }

// NDCG averaged over the relevant documents: at each one found, and at the end for each one missed.
double ndcg_at_relevant(const List& list, const Rules& rules, Scratch&) {
    Gains gains(list, rules);
    Ideal ideal(gains);
    double have = 0, best = 0, sum = 0;
    Count found = 0, relevant = 0;
    Position i = 0;
    for (; i < list.size(); ++i) {
        const double gain = gains.of(label_at(list, i));
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
double ndcg_at_levels(const List& list, const Rules& rules, Scratch&) {
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
        const double gain = gains.of(label_at(list, i)), wanted = ideal.next();
        note_change(wanted);
        if (gain != 0) have += gain / discount(i);
        if (wanted > 0) best += wanted / discount(i);
    }
    if (i < list.size()) {
        for (; i < list.size(); ++i)
            if (const double gain = gains.of(label_at(list, i)); gain != 0) have += gain / discount(i);
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
double normalised_gain(const List& list, const Rules& rules, Scratch&) {
    Gains gains(list, rules);
    Ideal ideal(gains);
    constexpr double kLeastCost = 1.0;
    double sum = 0, have = 0, best = 0, cost = 0;
    for (Position i = 0; i < list.size(); ++i) {
        const double gain = gains.of(label_at(list, i));
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
double graded_rbp(const List& list, const Rules& rules, Scratch&) {
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
        if (const double gain = gains.of(label_at(list, i)); gain != 0) sum += gain * weight;
    return (1.0 - p) * sum;
}

constexpr std::array<std::pair<std::string_view, Measure>, 22> kMeasures{{
    {"iprec_at_recall", interpolated_precision}, {"iprec_of_recall", interpolated_precision_of},
    {"iprec_average", mean_interpolated}, {"Rprec_mult", r_precision_multiple},
    {"Rprec_mult_of", r_precision_multiple_of}, {"relative_P", relative_precision},
    {"set_map", set_map}, {"set_F", set_f}, {"utility", utility}, {"binG", binary_g}, {"infAP", inferred_ap},
    {"yaap", yet_another_ap}, {"num_nonrel_judged_ret", nonrelevant_retrieved}, {"unj", unjudged_share},
    {"rbp_resid", rbp_residual}, {"ndcg_of_gains", ndcg_of_gains}, {"dcg_of_gains", dcg_of_gains},
    {"ideal_dcg", ideal_dcg}, {"ndcg_rel", ndcg_at_relevant}, {"Rndcg", ndcg_at_levels}, {"G", normalised_gain},
    {"rbp_graded", graded_rbp},
}};

}  // namespace

Measure find_trec_measure(std::string_view name) {
    for (const auto& [known, measure] : kMeasures)
        if (known == name) return measure;
    const Measure measure = find_trec9_measure(name);
    return measure ? measure : find_trec8_measure(name);
}

}  // namespace pippin
