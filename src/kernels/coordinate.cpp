#include "coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "parallel.hpp"

namespace pippin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBase = 0.001;   // first step of the grid (Metzler & Croft 2007, as RankLib takes it)
constexpr std::int64_t kBlock = 32;  // queries a thread takes at a time

std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

// Where one query's documents lie on the line a + t · x.
struct Line {
    std::span<const double> a, x;
    double at(std::int64_t row, double t) const { return a[size_of(row)] + t * x[size_of(row)]; }
};

bool constant(const Objective& objective, std::int64_t q, std::span<const double> x) {
    const auto first = x.begin() + objective.first(q), last = x.begin() + objective.last(q);
    return std::all_of(first, last, [&](double value) { return value == *first; });
}

void fill_rows(const Objective& objective, std::int64_t q, Desk& desk) {
    desk.entries.clear();
    for (std::int64_t row = objective.first(q); row < objective.last(q); ++row) desk.entries.push_back({0, row});
}

void rank_at(const Objective& objective, const Line& line, double t, Desk& desk) {
    for (Entry& entry : desk.entries) entry.key = descending_key(line.at(entry.row, t), objective.rule().float32);
    objective.rank(desk);
}

// The |t| at which the order on the desk, made at t, changes next in the direction `sign`.
double next_change(const Line& line, double t, double sign, bool float32, const Desk& desk) {
    if (float32) return std::abs(t);  // rounding makes and breaks ties between crossings
    double next = kInfinity;
    for (std::size_t k = 0; k + 1 < desk.entries.size(); ++k) {
        const Entry &upper = desk.entries[k], &lower = desk.entries[k + 1];
        const double closing = sign * (line.x[size_of(lower.row)] - line.x[size_of(upper.row)]);
        if (upper.key == lower.key) {
            if (closing != 0) return std::abs(t);  // tied here and nowhere else
        } else if (closing > 0) {
            next = std::min(next, (line.at(upper.row, t) - line.at(lower.row, t)) / closing);
        }
    }
    return std::abs(t) + next;
}

// values[j] = value of query q at t = ts[j], given its value at 0; ts have one sign and grow in size.
void follow(const Objective& objective, std::int64_t q, const Line& line, std::span<const double> ts, double value,
            double* values, Desk& desk, Desk& before) {
    const bool float32 = objective.rule().float32;
    const double sign = ts.front() < 0 ? -1.0 : 1.0;
    fill_rows(objective, q, desk);
    rank_at(objective, line, 0.0, desk);
    double next = next_change(line, 0.0, sign, float32, desk);
    for (std::size_t j = 0; j < ts.size(); ++j) {
        if (std::abs(ts[j]) >= next) {
            before.ranked.swap(desk.ranked);
            before.tied.swap(desk.tied);
            rank_at(objective, line, ts[j], desk);
            if (desk.ranked != before.ranked || desk.tied != before.tied) value = objective.ranked_value(q, desk);
            next = next_change(line, ts[j], sign, float32, desk);
        }
        values[j] = value;
    }
}

// A change of a query's value when t passes a crossing.
struct Event {
    double t, change;
};

// A crossing of two documents of a query.
struct Crossing {
    double t;
    std::int64_t one, other;
};

// Every change of the value of query q along the whole line, in order of t; returns the value before the first.
double crossings(const Objective& objective, std::int64_t q, const Line& line, std::vector<Event>& events, Desk& desk,
                 Desk& part) {
    const std::int64_t first = objective.first(q), last = objective.last(q);
    std::vector<Crossing> all;
    for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t j = i + 1; j < last; ++j)
            if (line.x[size_of(i)] != line.x[size_of(j)])
                all.push_back({(line.a[size_of(i)] - line.a[size_of(j)]) / (line.x[size_of(j)] - line.x[size_of(i)]), i, j});
    std::stable_sort(all.begin(), all.end(), [](const Crossing& l, const Crossing& r) { return l.t < r.t; });
    fill_rows(objective, q, desk);
    rank_at(objective, line, all.empty() ? 0.0 : all.front().t - 1.0, desk);
    const double start = objective.ranked_value(q, desk);
    std::vector<std::size_t> place(size_of(last - first));
    for (std::size_t k = 0; k < desk.entries.size(); ++k) place[size_of(desk.entries[k].row - first)] = k;
    double value = start;
    for (std::size_t begin = 0; begin < all.size();) {
        std::size_t end = begin, top = place.size(), bottom = 0;
        for (; end < all.size() && all[end].t - all[begin].t <= 1e-12 * std::max(1.0, std::abs(all[begin].t)); ++end)
            for (const std::int64_t row : {all[end].one, all[end].other}) {
                top = std::min(top, place[size_of(row - first)]);
                bottom = std::max(bottom, place[size_of(row - first)]);
            }
        const double t = all[end - 1].t, after = end < all.size() ? (t + all[end].t) / 2 : t + 1.0;
        // Only the documents between the topmost and the lowest that cross can change places.
        part.entries.assign(desk.entries.begin() + static_cast<std::ptrdiff_t>(top),
                            desk.entries.begin() + static_cast<std::ptrdiff_t>(bottom) + 1);
        rank_at(objective, line, after, part);
        bool changed = false;
        for (std::size_t k = 0; k < part.entries.size(); ++k) {
            desk.entries[top + k] = part.entries[k];
            place[size_of(part.entries[k].row - first)] = top + k;
            const std::uint8_t tied = k > 0 ? part.tied[k] : 0;
            changed = changed || desk.ranked[top + k] != part.ranked[k] || desk.tied[top + k] != tied;
            desk.ranked[top + k] = part.ranked[k];
            desk.tied[top + k] = tied;
        }
        if (changed) {
            const double now = objective.ranked_value(q, desk);
            if (now != value) events.push_back({t, now - value});
            value = now;
        }
        begin = end;
    }
    return start;
}

// One start on its way up.
class Climb {
  public:
    Climb(const Slope& slope, const AscentSettings& settings, std::span<double> weights, std::span<double> scores, int threads)
        : slope_(slope), settings_(settings), weights_(weights), scores_(scores), threads_(threads),
          values_(slope.active.size()), trial_(slope.active.size()), moved_(scores.size()) {
        total_ = evaluate(scores_, values_);
    }
    double total() const { return total_; }

    void visit(std::int64_t f) {
        if (settings_.exact) {
            const double t = best_crossing(f);
            if (t != 0) accept(f, t);
            return;
        }
        if (search(f, 1.0) || search(f, -1.0)) return;
        const double weight = weights_[size_of(f)];
        if (weight == 0) return;
        const double away = -weight;
        if (best_step(f, {&away, 1}) == 0) accept(f, away);
    }

  private:
    double evaluate(std::span<const double> scores, std::vector<double>& values) const {
        parallel_blocks(static_cast<std::int64_t>(values.size()), threads_, kBlock, [&](std::int64_t begin, std::int64_t end) {
            Desk desk;
            for (std::int64_t k = begin; k < end; ++k)
                values[size_of(k)] = slope_.objective.value(slope_.active[size_of(k)], scores, desk);
        });
        return std::accumulate(values.begin(), values.end(), 0.0);
    }

    // Looks along one direction; true where a step was taken.
    bool search(std::int64_t f, double sign) {
        const double weight = weights_[size_of(f)];
        const double base = weight != 0 && kBase > 0.5 * std::abs(weight) ? 0.05 * std::abs(weight) : kBase;
        std::vector<double> ts;
        double t = 0, step = base * sign;
        for (std::int64_t j = 0; j < settings_.steps; ++j, step *= 2) {
            t += step;
            if (settings_.nonneg && weight + t < 0) break;
            ts.push_back(t);
        }
        if (ts.empty()) return false;
        const std::int64_t best = best_step(f, ts);
        return best >= 0 && accept(f, ts[size_of(best)]);
    }

    // The first of the best steps if it is better than where we stand, or −1.
    std::int64_t best_step(std::int64_t f, std::span<const double> ts) {
        const Line line{scores_, slope_.column(f)};
        const auto width = static_cast<std::int64_t>(ts.size()), count = static_cast<std::int64_t>(values_.size());
        table_.resize(size_of(count * width));
        parallel_blocks(count, threads_, kBlock, [&](std::int64_t begin, std::int64_t end) {
            Desk desk, before;
            for (std::int64_t k = begin; k < end; ++k) {
                double* values = table_.data() + k * width;
                const std::int64_t q = slope_.active[size_of(k)];
                if (constant(slope_.objective, q, line.x))
                    std::fill(values, values + width, values_[size_of(k)]);
                else
                    follow(slope_.objective, q, line, ts, values_[size_of(k)], values, desk, before);
            }
        });
        std::vector<double> sums(size_of(width), 0.0);
        for (std::int64_t k = 0; k < count; ++k)
            for (std::int64_t j = 0; j < width; ++j) sums[size_of(j)] += table_[size_of(k * width + j)];
        const auto best = std::max_element(sums.begin(), sums.end());
        return *best > total_ ? best - sums.begin() : -1;
    }

    // The middle of the stretch of the line with the largest sum, or 0 where none is better than here.
    double best_crossing(std::int64_t f) {
        const Line line{scores_, slope_.column(f)};
        const auto count = static_cast<std::int64_t>(values_.size());
        std::vector<std::vector<Event>> events(size_of(count));
        parallel_blocks(count, threads_, kBlock, [&](std::int64_t begin, std::int64_t end) {
            Desk desk, part;
            for (std::int64_t k = begin; k < end; ++k) {
                const std::int64_t q = slope_.active[size_of(k)];
                trial_[size_of(k)] = constant(slope_.objective, q, line.x)
                                         ? values_[size_of(k)]
                                         : crossings(slope_.objective, q, line, events[size_of(k)], desk, part);
            }
        });
        std::vector<Event> all;
        for (const auto& mine : events) all.insert(all.end(), mine.begin(), mine.end());
        std::stable_sort(all.begin(), all.end(), [](const Event& l, const Event& r) { return l.t < r.t; });
        const double floor = settings_.nonneg ? -weights_[size_of(f)] : -kInfinity;
        double sum = std::accumulate(trial_.begin(), trial_.end(), 0.0), best = total_, chosen = 0.0;
        for (std::size_t k = 0; k <= all.size(); ++k) {
            const double low = std::max(floor, k > 0 ? all[k - 1].t : -kInfinity), high = k < all.size() ? all[k].t : kInfinity;
            if (k > 0) sum += all[k - 1].change;
            if (!(low < high) || all.empty()) continue;
            const double t = low == -kInfinity ? high - 1.0 : high == kInfinity ? low + 1.0 : low + (high - low) / 2;
            if (sum > best) {
                best = sum;
                chosen = t;
            }
        }
        return chosen;
    }

    // Takes the step if the sum of the measure really rises by it.
    bool accept(std::int64_t f, double t) {
        const double old = weights_[size_of(f)];
        weights_[size_of(f)] = t == -old ? 0.0 : old + t;
        double norm = 0.0;
        for (const double weight : weights_) norm += std::abs(weight);
        const Line line{scores_, slope_.column(f)};
        for (std::int64_t row = 0; row < slope_.rows(); ++row) moved_[size_of(row)] = line.at(row, t) / norm;
        const double sum = norm > 0 ? evaluate(moved_, trial_) : -kInfinity;
        if (!(sum > total_)) {
            weights_[size_of(f)] = old;
            return false;
        }
        for (double& weight : weights_) weight /= norm;
        std::copy(moved_.begin(), moved_.end(), scores_.begin());
        values_.swap(trial_);
        total_ = sum;
        return true;
    }

    const Slope& slope_;
    const AscentSettings& settings_;
    std::span<double> weights_, scores_;
    int threads_;
    std::vector<double> values_, trial_, moved_, table_;
    double total_ = 0.0;
};

}  // namespace

double rescore(const Slope& slope, std::span<const double> weights, std::span<double> scores, int threads) {
    std::fill(scores.begin(), scores.end(), 0.0);
    for (std::int64_t f = 0; f < slope.features(); ++f) {
        const auto x = slope.column(f);
        const double weight = weights[size_of(f)];
        if (weight == 0) continue;
        for (std::size_t row = 0; row < scores.size(); ++row) scores[row] += weight * x[row];
    }
    std::vector<double> values(slope.active.size());
    parallel_blocks(static_cast<std::int64_t>(values.size()), threads, kBlock, [&](std::int64_t begin, std::int64_t end) {
        Desk desk;
        for (std::int64_t k = begin; k < end; ++k)
            values[size_of(k)] = slope.objective.value(slope.active[size_of(k)], scores, desk);
    });
    return std::accumulate(values.begin(), values.end(), 0.0);
}

double ascend(const Slope& slope, const AscentSettings& settings, std::span<const std::int32_t> features,
              std::span<double> weights, std::span<double> scores, int threads) {
    Climb climb(slope, settings, weights, scores, threads);
    for (const std::int32_t f : features) climb.visit(f);
    return climb.total();
}

}  // namespace pippin
