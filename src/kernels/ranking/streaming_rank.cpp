#include "ranking/streaming_rank.hpp"

#include <atomic>
#include <cstring>
#include <functional>

#include "ranking/document_table.hpp"
#include "measures/measures.hpp"
#include "ranking/order.hpp"
#include "text/trec_lines.hpp"

namespace pippin {
namespace {

constexpr std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

// The rows of one query: where the ids of its documents stand, and scores. A score is kept as what is to be divided by
// what, so that a line does not wait for the division of the line before.
class Rows {
  public:
    Segment query{0, -1, 0};

    bool empty() const { return query.start < 0; }
    std::size_t size() const { return size_; }
    void begin(Segment id) {
        query = id;
        size_ = 0;
    }
    void add(std::int64_t start, std::int32_t length, Quotient score) {
        if (size_ == starts_.size()) [[unlikely]]
            grow(std::max<std::size_t>(2 * size_, 1024));
        starts_[size_] = start, lengths_[size_] = length, scores_[size_] = score;
        ++size_;
    }
    void append(const Rows& more) {
        grow(size_ + more.size_);
        const auto to = static_cast<std::ptrdiff_t>(size_);
        std::copy_n(more.starts_.begin(), more.size_, starts_.begin() + to);
        std::copy_n(more.lengths_.begin(), more.size_, lengths_.begin() + to);
        std::copy_n(more.scores_.begin(), more.size_, scores_.begin() + to);
        size_ += more.size_;
    }
    Texts ids(Bytes text) const { return {text, std::span(starts_).first(size_), std::span(lengths_).first(size_)}; }
    std::span<const Quotient> scores() const { return std::span(scores_).first(size_); }

  private:
    void grow(std::size_t size) { starts_.resize(size), lengths_.resize(size), scores_.resize(size); }

    std::size_t size_ = 0;  // capacity of the columns
    std::vector<std::int64_t> starts_;
    std::vector<std::int32_t> lengths_;
    std::vector<Quotient> scores_;
};

// What one pass knows, whichever thread works.
struct Pass {
    Bytes text;
    const JudgedView& judged;
    RankRule rule;
    ReadOptions options;
    const Texts& judged_queries;
    DocumentTable places{};  // of the judged queries
    std::atomic<bool> irregular = false;

    std::string_view id(const Segment& s) const {
        return {reinterpret_cast<const char*>(text.data()) + s.start, size_of(s.length)};
    }
};

// Hashes that were there before, at 64 bits for each: that one is new is certain, that it is not has to be looked at.
class Marks {
  public:
    void reset(std::size_t hashes) {
        words_.assign(std::bit_ceil(std::max<std::size_t>(hashes, 8)), 0);
        mask_ = words_.size() - 1;
    }
    bool has(std::uint64_t hash) const { return words_[(hash >> 6) & mask_] >> (hash & 63) & 1; }
    void set(std::uint64_t hash) { words_[(hash >> 6) & mask_] |= std::uint64_t{1} << (hash & 63); }

  private:
    std::vector<std::uint64_t> words_;
    std::size_t mask_ = 0;
};

// Ranks queries one after the other, in memory that it keeps from one to the next.
class Ranker {
  public:
    explicit Ranker(Pass& pass) : pass_(pass) {}

    RankedQuery rank(const Rows& rows, RankedLabels& to, std::size_t part) {
        const std::size_t size = rows.size();
        const Texts ids = rows.ids(pass_.text);
        judge(pass_.id(rows.query), ids);
        if (!again_.empty() && repeats(ids)) pass_.irregular = true;
        scores_.resize(size);
        std::transform(rows.scores().begin(), rows.scores().end(), scores_.begin(),
                       [](Quotient score) { return score.value(); });
        if (pass_.rule.float32)
            for (double& score : scores_) score = static_cast<double>(static_cast<float>(score));
        const std::size_t first = to.labels.size();
        to.labels.resize(first + size);
        to.tied.resize(first + size);
        write(ids, to.labels.data() + first, to.tied.data() + first);
        return {rows.query.start, rows.query.length, static_cast<std::int64_t>(size), part, first};
    }

  private:
    // The label of each document. Few are judged: those are what is looked up, and a document that is none of them is
    // passed over by one bit, as is one that was not there before; others are kept in `again_`.
    void judge(std::string_view query, const Texts& ids) {
        const JudgedView& judged = pass_.judged;
        const std::int64_t place = pass_.places.find(pass_.judged_queries, query);
        const std::int64_t first = place < 0 ? 0 : judged.offsets[size_of(place)];
        const std::int64_t last = place < 0 ? 0 : judged.offsets[size_of(place) + 1];
        judged_.reset(size_of(last - first));
        judged_rows_.reset(first, last);
        judged_labels_.assign(judged.labels.begin() + first, judged.labels.begin() + last);
        for (std::int64_t j = first; j < last; ++j) {
            judged_.set(hash(judged.ids[j]));
            if (const std::int64_t same = judged_rows_.insert(judged.ids, j); same >= 0)
                judged_labels_[size_of(same - first)] = judged.labels[size_of(j)];  // the last judgement counts
        }
        const auto size = ids.starts.size();
        labels_.assign(size, kUnjudged);
        hashes_.resize(size);
        seen_.reset(size);
        again_.clear();
        for (std::size_t row = 0; row < size; ++row) {
            const std::string_view id = ids[static_cast<std::int64_t>(row)];
            const std::uint64_t h = hashes_[row] = hash(id);
            if (seen_.has(h)) again_.push_back(static_cast<std::int64_t>(row));
            seen_.set(h);
            if (!judged_.has(h)) continue;
            if (const std::int64_t j = judged_rows_.find(judged.ids, id); j >= 0)
                labels_[row] = judged_labels_[size_of(j - first)];
        }
    }

    // Labels in rank order. Runs usually come sorted: then labels stand in that order already, but for those of ties.
    void write(const Texts& ids, std::int32_t* ranked, std::uint8_t* tied) {
        const RankRule rule = pass_.rule;
        const std::size_t size = scores_.size();
        const auto label_of = [this](std::int64_t row) { return labels_[size_of(row)]; };
        if (rule.ties >= Ties::introsort || !std::is_sorted(scores_.begin(), scores_.end(), std::greater{})) {
            order_one(scores_, 0, static_cast<std::int64_t>(size), ids, rule, label_of, entries_);
            return write_ranked(entries_, label_of, ranked, tied);
        }
        std::copy(labels_.begin(), labels_.end(), ranked);
        for (std::size_t i = 0; i < size; ++i) tied[i] = i > 0 && scores_[i] == scores_[i - 1];
        for (std::size_t end = 0; const void* const found = std::memchr(tied + end, 1, size - end);) {
            const std::size_t begin = size_of(static_cast<const std::uint8_t*>(found) - tied) - 1;
            for (end = begin + 1; end < size && tied[end];) ++end;
            entries_.resize(end - begin);
            for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i] = {0, static_cast<std::int64_t>(begin + i)};
            settle_ties(std::span(entries_), rule.ties, ids, label_of);
            for (std::size_t i = 0; i < entries_.size(); ++i) ranked[begin + i] = label_of(entries_[i].row);
        }
    }

    // Whether a document stands twice: one of `again_`, and another row.
    bool repeats(const Texts& ids) {
        rows_.reset(0, static_cast<std::int64_t>(again_.size()));
        seen_.reset(again_.size());
        for (const std::int64_t row : again_) {
            if (rows_.insert(ids, row) >= 0) return true;
            seen_.set(hashes_[size_of(row)]);
        }
        for (std::size_t row = 0; row < hashes_.size(); ++row) {
            if (!seen_.has(hashes_[row])) continue;
            const auto here = static_cast<std::int64_t>(row);
            if (const std::int64_t other = rows_.find(ids, ids[here]); other >= 0 && other != here) return true;
        }
        return false;
    }

    Pass& pass_;
    Marks judged_, seen_;
    DocumentTable judged_rows_, rows_;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::int64_t> again_;
    std::vector<double> scores_;
    std::vector<Entry> entries_;
    std::vector<std::int32_t> judged_labels_, labels_;
};

// A piece of the text: its first and its last query as rows, because they may go on elsewhere, and the others ranked.
// The only query of a piece is its first.
struct Piece {
    Rows head, tail;
    std::vector<RankedQuery> queries;
    RankedLabels ranked;
    Part read;
};

void rank_piece(Pass& pass, const Pieces& pieces, std::size_t number, Piece& piece) {
    const std::int64_t first = pieces.cuts[number], last = pieces.cuts[number + 1];
    const Census census = check_text(pass.text, first, last, pass.options.lenient);
    piece.ranked.labels.reserve(size_of(census.newlines) + 1);
    piece.ranked.tied.reserve(size_of(census.newlines) + 1);
    Ranker ranker(pass);
    Rows rows;
    const auto end_query = [&] {
        if (rows.empty()) return;
        if (piece.head.empty()) {
            piece.head = rows;
        } else {
            piece.queries.push_back(ranker.rank(rows, piece.ranked, number));
        }
    };
    const auto row = [&](const std::string_view(&columns)[6], const Block& block, std::int64_t, bool begins) {
        if (begins) {
            end_query();
            const std::int64_t at = block.at(columns[0].data());
            rows.begin({0, at, short_length(columns[0].size(), at)});
        }
        const std::int64_t at = block.at(columns[2].data());
        const Quotient score = run_score(columns, block, pass.options);
        if (std::isnan(score.dividend)) [[unlikely]]
            pass.irregular = true;
        rows.add(at, short_length(columns[2].size(), at), score);
    };
    piece.read = pass.options.lenient && census.controls
                     ? read_piece<CBlank, 6>(pass.text, first, last, 0, pass.options, kRunColumns, row)
                     : read_piece<AnyBlank, 6>(pass.text, first, last, 0, pass.options, kRunColumns, row);
    if (piece.head.empty()) {
        piece.head = std::move(rows);
    } else {
        piece.tail = std::move(rows);
    }
}

// The queries that were put aside, joined over the cuts, in the order of the text; and all queries in that order, those
// put aside with `part` counting on from the pieces.
std::vector<Rows> join_pieces(const Pass& pass, std::vector<Piece>& pieces, RankedText& result) {
    std::vector<Rows> aside;
    Rows open;
    const auto close = [&] {
        if (open.empty()) return;
        result.queries.push_back({open.query.start, open.query.length, 0, pieces.size() + aside.size(), 0});
        aside.push_back(std::move(open));
        open = Rows{};
    };
    for (Piece& piece : pieces) {
        if (piece.head.empty()) continue;
        if (!open.empty() && pass.id(open.query) == pass.id(piece.head.query)) {
            open.append(piece.head);
        } else {
            close();
            open = std::move(piece.head);
        }
        if (piece.tail.empty()) continue;
        close();
        result.queries.insert(result.queries.end(), piece.queries.begin(), piece.queries.end());
        open = std::move(piece.tail);
    }
    close();
    return aside;
}

}  // namespace

RankedText rank_run(Bytes text, const JudgedView& judged, const Texts& judged_queries, RankRule rule, ReadOptions options) {
    Pass pass{text, judged, rule, options, judged_queries};
    const auto queries = static_cast<std::int64_t>(judged.offsets.size()) - 1;
    pass.places.reset(0, queries);
    for (std::int64_t q = 0; q < queries; ++q) pass.places.insert(judged_queries, q);
    const Pieces cuts = cut_text(text, options.lenient);
    std::vector<Piece> pieces(size_of(cuts.count()));
    RankedText result;
    try {
        each_piece(cuts, options.threads,
                   [&](std::int64_t number) { rank_piece(pass, cuts, size_of(number), pieces[size_of(number)]); });
    } catch (const TextError&) {
        result.irregular = true;
        return result;
    }
    std::vector<Rows> aside = join_pieces(pass, pieces, result);
    for (Piece& piece : pieces) {
        result.parts.push_back(std::move(piece.ranked));
        if (result.first_tag.row < 0) result.first_tag = piece.read.first_tag;
        if (piece.read.last_tag.row >= 0) result.last_tag = piece.read.last_tag;
    }
    result.parts.resize(pieces.size() + aside.size());
    std::vector<RankedQuery> ranked(aside.size());
    parallel_blocks(static_cast<std::int64_t>(aside.size()), options.threads, 1, [&](std::int64_t first, std::int64_t last) {
        Ranker ranker(pass);
        for (std::int64_t i = first; i < last; ++i)
            ranked[size_of(i)] =
                ranker.rank(aside[size_of(i)], result.parts[pieces.size() + size_of(i)], pieces.size() + size_of(i));
    });
    for (RankedQuery& query : result.queries)
        if (query.part >= pieces.size()) query = ranked[query.part - pieces.size()];
    if (pass.irregular) {
        result = RankedText{};
        result.irregular = true;
    }
    return result;
}

void copy_ranked(const RankedText& text, std::span<const std::int64_t> to, std::span<std::int32_t> labels,
                 std::span<std::uint8_t> tied, int threads) {
    parallel_blocks(static_cast<std::int64_t>(text.queries.size()), threads, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t q = begin; q < end; ++q) {
            const std::int64_t first = to[size_of(q)];
            if (first < 0) continue;
            const RankedQuery& query = text.queries[size_of(q)];
            const RankedLabels& from = text.parts[query.part];
            std::copy_n(from.labels.begin() + static_cast<std::ptrdiff_t>(query.first), query.documents,
                        labels.begin() + first);
            std::copy_n(from.tied.begin() + static_cast<std::ptrdiff_t>(query.first), query.documents, tied.begin() + first);
        }
    });
}

}  // namespace pippin
