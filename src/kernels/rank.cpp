#include "rank.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

#include "measures.hpp"
#include "order.hpp"
#include "parallel.hpp"

namespace pippin {
namespace {

// The bytes at p as a number; `Word` says how many.
template <typename Word>
std::uint64_t load(const char* p) {
    Word word;
    __builtin_memcpy(&word, p, sizeof(Word));
    return word;
}

std::uint64_t mix(std::uint64_t h, std::uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
    return h ^ (h >> 32);
}

std::uint64_t hash(std::string_view text) {
    // FNV-1a over eight bytes at a time, the last eight again rather than the rest alone: every load has a fixed size,
    // and a copy of a few bytes into a zero would cost more than all else here.
    const char* const p = text.data();
    const std::size_t size = text.size();
    std::uint64_t h = 0xcbf29ce484222325ULL ^ size;
    if (size >= 8) {
        for (std::size_t i = 0; i + 8 < size; i += 8) h = mix(h, load<std::uint64_t>(p + i));
        return mix(h, load<std::uint64_t>(p + size - 8));
    }
    if (size >= 4) return mix(h, load<std::uint32_t>(p) << 32 | load<std::uint32_t>(p + size - 4));
    for (const char c : text) h = mix(h, static_cast<unsigned char>(c));
    return h;
}

// An open-addressing table of the documents of one query, reused from query to query.
class Table {
  public:
    void reset(std::size_t items) {
        std::size_t size = 16;
        while (size < 2 * items) size *= 2;
        slots_.assign(size, {0, -1});
        mask_ = size - 1;
    }
    // The row that holds this text already, or −1 after putting it in.
    std::int64_t insert(const Texts& ids, std::int64_t row) {
        const std::string_view text = ids[row];
        const std::uint64_t h = hash(text);
        for (std::size_t at = h & mask_;; at = (at + 1) & mask_) {
            if (slots_[at].row < 0) {
                slots_[at] = {h, row};
                return -1;
            }
            if (slots_[at].hash == h && ids[slots_[at].row] == text) return slots_[at].row;
        }
    }
    std::int64_t find(const Texts& ids, std::string_view text) const {
        const std::uint64_t h = hash(text);
        for (std::size_t at = h & mask_; slots_[at].row >= 0; at = (at + 1) & mask_)
            if (slots_[at].hash == h && ids[slots_[at].row] == text) return slots_[at].row;
        return -1;
    }

  private:
    struct Slot {
        std::uint64_t hash;
        std::int64_t row;
    };
    std::vector<Slot> slots_;
    std::size_t mask_ = 0;
};

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
                const Texts& ids, RankRule rule, std::span<std::int32_t> ranked, std::span<std::uint8_t> tied, int threads) {
    const auto label_of = [&](std::int64_t row) { return labels[size_of(row)]; };
    parallel_blocks(static_cast<std::int64_t>(offsets.size()) - 1, threads, 64, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Entry> entries;
        for (std::int64_t q = begin; q < end; ++q) {
            const std::int64_t first = offsets[size_of(q)];
            order_one(scores, first, offsets[size_of(q + 1)], ids, rule, label_of, entries);
            write_ranked(entries, label_of, ranked.data() + first, tied.data() + first);
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
        Table table;
        for (std::int64_t q = begin; q < end; ++q) {
            const std::int64_t source = run_of[size_of(q)], judge = judged_of[size_of(q)];
            if (source < 0) continue;
            const std::int64_t first = run.offsets[size_of(source)], last = run.offsets[size_of(source + 1)];
            table.reset(size_of(last - first));
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
        Table table;
        for (std::int64_t q = begin; q < end; ++q) {
            table.reset(size_of(offsets[size_of(q + 1)] - offsets[size_of(q)]));
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
            const auto from = labels.begin() + label_offsets[size_of(source)], to = labels.begin() + label_offsets[size_of(source + 1)];
            const auto out = pool.begin() + offsets[size_of(q)];
            std::copy(from, to, out);
            std::sort(out, out + (to - from), std::greater<>());
        }
    });
}

}  // namespace pippin
