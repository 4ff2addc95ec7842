#include "ranking/rank.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

#include "ranking/document_table.hpp"
#include "measures/measures.hpp"
#include "ranking/order.hpp"
#include "parallel.hpp"

namespace pippin {
namespace {

// Keeps the duplicate that comes first in the file, whichever thread finds it.
class FirstDuplicate {
  public:
    void offer(std::int64_t first, std::int64_t second) {
        const std::lock_guard lock(guard_);
        if (found_.second < 0 || second < found_.second) found_ = {first, second};
    }
    Duplicate get() const { return found_; }

  private:
    std::mutex guard_;
    Duplicate found_;
};

std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

// Labels, highest first. Grades from 0 on are few, and are counted; anything else is sorted.
void sort_labels(std::span<const std::int32_t> labels, std::int32_t* out) {
    constexpr std::size_t kGrades = 16;
    std::size_t counts[kGrades] = {};
    std::uint32_t bits = 0;
    for (const std::int32_t label : labels) bits |= static_cast<std::uint32_t>(label);
    if (bits >= kGrades) {
        std::copy(labels.begin(), labels.end(), out);
        std::sort(out, out + labels.size(), std::greater<>());
        return;
    }
    for (const std::int32_t label : labels) ++counts[label];
    for (std::size_t grade = kGrades; grade-- > 0;) out = std::fill_n(out, counts[grade], static_cast<std::int32_t>(grade));
}

// Whether two scores of a list in rank order are one in single precision.
bool any_alike(std::span<const Entry> entries, std::span<const double> scores) {
    const auto single = [&](std::size_t i) { return static_cast<float>(scores[size_of(entries[i].row)]); };
    bool any = false;
    for (std::size_t i = 1; i < entries.size(); ++i) any |= single(i) == single(i - 1);
    return any;
}

}  // namespace

void order_lists(std::span<const double> scores, std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets,
                 const Texts& ids, RankRule rule, std::span<std::int64_t> order, int threads) {
    const auto label_of = [&](std::int64_t row) { return labels[size_of(row)]; };
    parallel_blocks(static_cast<std::int64_t>(offsets.size()) - 1, threads, 64, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Entry> entries;
        for (std::int64_t q = begin; q < end; ++q) {
            const std::int64_t first = offsets[size_of(q)];
            order_one(scores, first, offsets[size_of(q + 1)], ids, rule, label_of, entries);
            for (std::size_t i = 0; i < entries.size(); ++i) order[size_of(first) + i] = entries[i].row;
        }
    });
}

void rank_lists(std::span<const double> scores, std::span<const std::int32_t> labels, std::span<const std::int64_t> offsets,
                const Texts& ids, RankRule rule, std::span<const std::int64_t> queries, std::span<std::int32_t> ranked,
                std::span<std::uint8_t> tied, std::span<std::uint8_t> alike, int threads) {
    const auto label_of = [&](std::int64_t row) { return labels[size_of(row)]; };
    const std::size_t count = queries.empty() ? offsets.size() - 1 : queries.size();
    parallel_blocks(static_cast<std::int64_t>(count), threads, 64, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Entry> entries;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::size_t q = size_of(queries.empty() ? i : queries[size_of(i)]);
            const std::int64_t first = offsets[q];
            order_one(scores, first, offsets[q + 1], ids, rule, label_of, entries);
            write_ranked(entries, label_of, ranked.data() + first, tied.data() + first);
            alike[q] = any_alike(entries, scores);
        }
    });
}

Duplicate judge_and_rank(const RunView& run, const JudgedView& judged, std::span<const std::int64_t> run_of,
                         std::span<const std::int64_t> judged_of, std::span<const std::int64_t> offsets, RankRule rule,
                         std::span<std::int32_t> ranked, std::span<std::uint8_t> tied, int threads) {
    FirstDuplicate duplicate;
    parallel_blocks(static_cast<std::int64_t>(run_of.size()), threads, 16, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Entry> entries;
        std::vector<std::int32_t> labels;
        DocumentTable table;
        for (std::int64_t q = begin; q < end; ++q) {
            const std::int64_t source = run_of[size_of(q)], judge = judged_of[size_of(q)];
            if (source < 0) continue;
            const std::int64_t first = run.offsets[size_of(source)], last = run.offsets[size_of(source + 1)];
            table.reset(first, last);
            for (std::int64_t row = first; row < last; ++row)
                if (const std::int64_t before = table.insert(run.ids, row); before >= 0) duplicate.offer(before, row);
            labels.assign(size_of(last - first), kUnjudged);
            if (judge >= 0) {
                for (std::int64_t j = judged.offsets[size_of(judge)]; j < judged.offsets[size_of(judge + 1)]; ++j)
                    if (const std::int64_t row = table.find(run.ids, judged.ids[j]); row >= 0)
                        labels[size_of(row - first)] = judged.labels[size_of(j)];
            }
            const auto label_of = [&](std::int64_t row) { return labels[size_of(row - first)]; };
            order_one(run.scores, first, last, run.ids, rule, label_of, entries);
            write_ranked(entries, label_of, ranked.data() + offsets[size_of(q)], tied.data() + offsets[size_of(q)]);
        }
    });
    return duplicate.get();
}

Duplicate find_duplicate(const Texts& ids, std::span<const std::int64_t> offsets, int threads) {
    FirstDuplicate duplicate;
    parallel_blocks(static_cast<std::int64_t>(offsets.size()) - 1, threads, 64, [&](std::int64_t begin, std::int64_t end) {
        DocumentTable table;
        for (std::int64_t q = begin; q < end; ++q) {
            table.reset(offsets[size_of(q)], offsets[size_of(q + 1)]);
            for (std::int64_t row = offsets[size_of(q)]; row < offsets[size_of(q + 1)]; ++row)
                if (const std::int64_t before = table.insert(ids, row); before >= 0) duplicate.offer(before, row);
        }
    });
    return duplicate.get();
}

void sort_pools(std::span<const std::int32_t> labels, std::span<const std::int64_t> label_offsets,
                std::span<const std::int64_t> queries, std::span<const std::int64_t> offsets, std::span<std::int32_t> pool,
                int threads) {
    parallel_blocks(static_cast<std::int64_t>(queries.size()), threads, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t q = begin; q < end; ++q) {
            const std::int64_t source = queries[size_of(q)];
            if (source < 0) continue;
            const auto from = labels.begin() + label_offsets[size_of(source)],
                       to = labels.begin() + label_offsets[size_of(source + 1)];
            sort_labels({from, to}, pool.data() + offsets[size_of(q)]);
        }
    });
}

}  // namespace pippin
