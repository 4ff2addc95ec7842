#include "training/coordinate.hpp"

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

void fill_rows(std::span<const std::int64_t> order, Desk& desk) {
    desk.entries.clear();
    for (const std::int64_t row : order) desk.entries.push_back({0, row});
}

// Brings entries that are nearly in order into order; gives up, for a real sort, where they are not.
void straighten(std::vector<Entry>& entries) {
    std::size_t moves = 0;
    for (std::size_t k = 1; k < entries.size() && moves < 4 * entries.size(); ++k) {
        const Entry entry = entries[k];
        std::size_t to = k;
        for (; to > 0 && entry < entries[to - 1]; --to, ++moves) entries[to] = entries[to - 1];
        entries[to] = entry;
    }
}

void rank_at(const Objective& objective, const Line& line, double t, Desk& desk) {
    for (Entry& entry : desk.entries) entry.key = descending_key(line.at(entry.row, t), objective.rule().float32);
    straighten(desk.entries);
    objective.rank(desk);
}

// When `lower`, now below `upper`, comes level with it in the direction `sign`, as a distance from t; no distance where they
// are tied at t and nowhere else.
double meeting(const Line& line, double t, double sign, const Entry& upper, const Entry& lower) {
    const double closing = sign * (line.x[size_of(lower.row)] - line.x[size_of(upper.row)]);
    if (upper.key == lower.key) return closing != 0 ? 0.0 : kInfinity;
    return closing > 0 ? (line.at(upper.row, t) - line.at(lower.row, t)) / closing : kInfinity;
}

// The |t| up to which, in the direction `sign`, the labels in rank order on the desk, made at t, stay as they are. Documents
// of one label may change places among themselves: what counts is when one of a run of equal labels meets one of the next run.
double next_change(const Line& line, double t, double sign, bool float32, const Desk& desk) {
    if (float32) return std::abs(t);  // rounding makes and breaks ties between crossings
    const auto& entries = desk.entries;
    const std::size_t size = entries.size();
    double next = kInfinity;
    std::size_t work = 0;
    for (std::size_t above = 0, begin = 0; begin < size;) {
        std::size_t end = begin + 1;
        while (end < size && desk.ranked[end] == desk.ranked[begin]) ++end;
        work += (begin - above) * (end - begin);
        if (work > 8 * size) break;
        for (std::size_t u = above; u < begin; ++u)
            for (std::size_t l = begin; l < end; ++l) next = std::min(next, meeting(line, t, sign, entries[u], entries[l]));
        above = begin;
        begin = end;
    }
    if (work > 8 * size) {  // long runs: the first change of any order comes no later
        next = kInfinity;
        for (std::size_t k = 0; k + 1 < size; ++k) next = std::min(next, meeting(line, t, sign, entries[k], entries[k + 1]));
    }
    return std::abs(t) + next;
}

// values[j] = value of query q at t = ts[j], given its value at 0; ts have one sign and grow in size.
void follow(const Objective& objective, std::int64_t q, const Line& line, std::span<const std::int64_t> order,
            std::span<const double> ts, double value, double* values, Desk& desk, Desk& before) {
    const bool float32 = objective.rule().float32;
    const double sign = ts.front() < 0 ? -1.0 : 1.0;
    fill_rows(order, desk);
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

// Documents of a query whose label is not its most frequent one. Where they are few, their ranks alone tell the labels in
// rank order, and ranks are counted faster than documents are sorted.
struct Rare {
    std::int32_t common = 0;
    std::vector<std::int64_t> rows;
};

constexpr std::size_t kFew = 24;

Rare find_rare(const Objective& objective, std::int64_t q) {
    std::vector<std::int32_t> labels;
    for (std::int64_t row = objective.first(q); row < objective.last(q); ++row) labels.push_back(objective.label(row));
    std::sort(labels.begin(), labels.end());
    Rare rare;
    for (std::size_t begin = 0, most = 0; begin < labels.size();) {
        std::size_t end = begin + 1;
        while (end < labels.size() && labels[end] == labels[begin]) ++end;
        if (end - begin > most) {
            most = end - begin;
            rare.common = labels[begin];
        }
        begin = end;
    }
    for (std::int64_t row = objective.first(q); row < objective.last(q); ++row)
        if (objective.label(row) != rare.common) rare.rows.push_back(row);
    return rare;
}

// Numbers of a query's documents, two at a time, as every processor has instructions for; NaN after the last one.
using Two = double __attribute__((vector_size(16)));
using TwoCounts = decltype(Two{} > Two{});

class Twos {
  public:
    void read(std::span<const double> numbers) {
        size_ = numbers.size();
        blocks_.assign((size_ + 1) / 2, Block{Two{kNaN, kNaN}});
        for (std::size_t k = 0; k < size_; ++k) set(k, numbers[k]);
    }
    // a + t · x
    void move(const Twos& a, double t, const Twos& x) {
        size_ = a.size_;
        blocks_.resize(a.blocks_.size());
        for (std::size_t b = 0; b < blocks_.size(); ++b) blocks_[b].pair = a.block(b) + Two{t, t} * x.block(b);
    }
    std::size_t size() const { return size_; }
    std::size_t blocks() const { return blocks_.size(); }
    const Two& block(std::size_t b) const { return blocks_[b].pair; }
    double operator[](std::size_t k) const { return blocks_[k / 2].pair[k % 2]; }
    void set(std::size_t k, double number) { blocks_[k / 2].pair[k % 2] = number; }

  private:
    static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    struct Block {
        Two pair;
    };
    std::vector<Block> blocks_;
    std::size_t size_ = 0;
};

// The same as follow() by ranks of rare documents. Where one of them is tied, and ties do not keep the order of rows, the
// whole query is ranked.
class Counting {
  public:
    void follow(const Objective& objective, std::int64_t q, const Line& line, std::span<const std::int64_t> order,
                const Rare& rare, std::span<const double> ts, double value, double* values) {
        const double sign = ts.front() < 0 ? -1.0 : 1.0;
        const bool float32 = objective.rule().float32;
        const std::size_t first = size_of(objective.first(q)), size = order.size();
        a_.read(line.a.subspan(first, size));
        x_.read(line.x.subspan(first, size));
        bool settled = place(objective, first, rare, 0.0);
        double next = settled && !float32 ? meet(first, rare, sign) : 0.0;
        for (std::size_t j = 0; j < ts.size(); ++j) {
            if (std::abs(ts[j]) >= next) {
                const bool known = settled;
                before_.swap(ranks_);
                settled = place(objective, first, rare, ts[j]);
                const bool changed = !settled || !known || ranks_ != before_;
                if (!settled) {
                    fill_rows(order, desk_);
                    rank_at(objective, line, ts[j], desk_);
                } else if (changed) {
                    write_labels(objective, rare);
                }
                if (changed) value = objective.ranked_value(q, desk_);
                // After a change the next one is near: looking there costs less than working out where it is.
                next = std::abs(ts[j]) + (changed || float32 ? 0.0 : meet(first, rare, sign));
            }
            values[j] = value;
        }
    }

  private:
    // Scores at t and the position of every rare document; false where a tie leaves one of them open.
    bool place(const Objective& objective, std::size_t first, const Rare& rare, double t) {
        scores_.move(a_, t, x_);
        if (objective.rule().float32)
            for (std::size_t k = 0; k < scores_.size(); ++k)
                scores_.set(k, static_cast<double>(static_cast<float>(scores_[k])));
        ranks_.clear();
        bool settled = true;
        for (const std::int64_t row : rare.rows) {
            const double mine = scores_[size_of(row) - first];
            const Two both{mine, mine};
            TwoCounts above{}, level{};  // a comparison that holds is −1
            for (std::size_t b = 0; b < scores_.blocks(); ++b) {
                above -= scores_.block(b) > both;
                level -= scores_.block(b) == both;
            }
            std::int64_t rank = above[0] + above[1];
            if (level[0] + level[1] > 1) {
                settled = settled && objective.ties_keep_rows();
                for (std::size_t k = 0; k < size_of(row) - first; ++k) rank += scores_[k] == mine;
            }
            ranks_.push_back(rank);
        }
        return settled;
    }

    // How far t may go on in the direction `sign` before a rare document comes level with another one.
    double meet(std::size_t first, const Rare& rare, double sign) const {
        Two fastest{};
        const Two signs{sign, sign};
        for (const std::int64_t row : rare.rows) {
            const double mine = scores_[size_of(row) - first], own = x_[size_of(row) - first];
            const Two mines{mine, mine}, owns{own, own};
            for (std::size_t b = 0; b < scores_.blocks(); ++b) {
                const Two speed = signs * (x_.block(b) - owns) / (mines - scores_.block(b));  // NaN for the document itself
                fastest = speed > fastest ? speed : fastest;
            }
        }
        const double most = std::max(fastest[0], fastest[1]);
        return most > 0 ? 1.0 / most : kInfinity;
    }

    void write_labels(const Objective& objective, const Rare& rare) {
        desk_.ranked.assign(scores_.size(), rare.common);
        desk_.tied.assign(scores_.size(), 0);
        for (std::size_t u = 0; u < ranks_.size(); ++u) desk_.ranked[size_of(ranks_[u])] = objective.label(rare.rows[u]);
    }

    Twos a_, x_, scores_;
    std::vector<std::int64_t> ranks_, before_;
    Desk desk_;
};

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
double crossings(const Objective& objective, std::int64_t q, const Line& line, std::span<const std::int64_t> order,
                 std::vector<Event>& events, Desk& desk, Desk& part) {
    const std::int64_t first = objective.first(q), last = objective.last(q);
    std::vector<Crossing> all;
    for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t j = i + 1; j < last; ++j)
            if (line.x[size_of(i)] != line.x[size_of(j)])
                all.push_back({(line.a[size_of(i)] - line.a[size_of(j)]) / (line.x[size_of(j)] - line.x[size_of(i)]), i, j});
    std::stable_sort(all.begin(), all.end(), [](const Crossing& l, const Crossing& r) { return l.t < r.t; });
    fill_rows(order, desk);
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
          values_(slope.active.size()), trial_(slope.active.size()), moved_(scores.size()), order_(scores.size()),
          trial_order_(scores.size()) {
        total_ = evaluate(scores_, values_, order_);
        for (const std::int64_t q : slope.active) rare_.push_back(find_rare(slope.objective, q));
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
    // Values, and the rows of each query in rank order, for these scores; returns the sum.
    double evaluate(std::span<const double> scores, std::vector<double>& values, std::vector<std::int64_t>& order) const {
        parallel_blocks(static_cast<std::int64_t>(values.size()), threads_, kBlock, [&](std::int64_t begin, std::int64_t end) {
            Desk desk;
            for (std::int64_t k = begin; k < end; ++k) {
                const std::int64_t q = slope_.active[size_of(k)];
                values[size_of(k)] = slope_.objective.value(q, scores, desk);
                for (std::size_t i = 0; i < desk.entries.size(); ++i)
                    order[size_of(slope_.objective.first(q)) + i] = desk.entries[i].row;
            }
        });
        return std::accumulate(values.begin(), values.end(), 0.0);
    }

    std::span<const std::int64_t> order_of(std::int64_t q) const {
        const std::int64_t first = slope_.objective.first(q);
        return std::span(order_).subspan(size_of(first), size_of(slope_.objective.last(q) - first));
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
            Counting counting;
            for (std::int64_t k = begin; k < end; ++k) {
                double* values = table_.data() + k * width;
                const std::int64_t q = slope_.active[size_of(k)];
                if (constant(slope_.objective, q, line.x)) std::fill(values, values + width, values_[size_of(k)]);
                else if (rare_[size_of(k)].rows.size() <= kFew)
                    counting.follow(slope_.objective, q, line, order_of(q), rare_[size_of(k)], ts, values_[size_of(k)], values);
                else follow(slope_.objective, q, line, order_of(q), ts, values_[size_of(k)], values, desk, before);
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
                                         : crossings(slope_.objective, q, line, order_of(q), events[size_of(k)], desk, part);
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
        const double sum = norm > 0 ? evaluate(moved_, trial_, trial_order_) : -kInfinity;
        if (!(sum > total_)) {
            weights_[size_of(f)] = old;
            return false;
        }
        for (double& weight : weights_) weight /= norm;
        std::copy(moved_.begin(), moved_.end(), scores_.begin());
        values_.swap(trial_);
        order_.swap(trial_order_);
        total_ = sum;
        return true;
    }

    const Slope& slope_;
    const AscentSettings& settings_;
    std::span<double> weights_, scores_;
    int threads_;
    std::vector<double> values_, trial_, moved_, table_;
    std::vector<std::int64_t> order_, trial_order_;
    std::vector<Rare> rare_;
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
