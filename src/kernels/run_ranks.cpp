#include "run_ranks.hpp"

#include <atomic>
#include <unordered_map>

#include "documents.hpp"
#include "measures.hpp"
#include "order.hpp"
#include "trec_lines.hpp"

namespace pippin {
namespace {

constexpr std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

// The rows of one query: where the ids of its documents stand, and scores.
struct Rows {
    Segment query{0, -1, 0};
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> lengths;
    std::vector<double> scores;

    bool empty() const { return query.start < 0; }
    void begin(Segment id) {
        query = id;
        starts.clear(), lengths.clear(), scores.clear();
    }
    void append(const Rows& more) {
        starts.insert(starts.end(), more.starts.begin(), more.starts.end());
        lengths.insert(lengths.end(), more.lengths.begin(), more.lengths.end());
        scores.insert(scores.end(), more.scores.begin(), more.scores.end());
    }
};

// What one pass knows, whichever thread works.
struct Pass {
    Bytes text;
    const JudgedView& judged;
    RankRule rule;
    ReadOptions options;
    std::unordered_map<std::string_view, std::int64_t> places;  // of the judged queries
    std::atomic<bool> irregular = false;

    std::string_view id(const Segment& s) const {
        return {reinterpret_cast<const char*>(text.data()) + s.start, size_of(s.length)};
    }
};

// Ranks queries one after the other, in memory that it keeps from one to the next.
class Ranker {
  public:
    explicit Ranker(Pass& pass) : pass_(pass) {}

    RankedQuery rank(const Rows& rows, RankedLabels& to, std::size_t part) {
        const auto size = static_cast<std::int64_t>(rows.scores.size());
        const Texts ids{pass_.text, rows.starts, rows.lengths};
        table_.reset(0, size);
        for (std::int64_t row = 0; row < size; ++row)
            if (table_.insert(ids, row) >= 0) pass_.irregular = true;
        labels_.assign(size_of(size), kUnjudged);
        if (const auto found = pass_.places.find(pass_.id(rows.query)); found != pass_.places.end()) {
            const JudgedView& judged = pass_.judged;
            const auto place = size_of(found->second);
            for (std::int64_t j = judged.offsets[place]; j < judged.offsets[place + 1]; ++j)
                if (const std::int64_t row = table_.find(ids, judged.ids[j]); row >= 0)
                    labels_[size_of(row)] = judged.labels[size_of(j)];
        }
        const auto label_of = [&](std::int64_t row) { return labels_[size_of(row)]; };
        order_one(rows.scores, 0, size, ids, pass_.rule, label_of, entries_);
        const std::size_t first = to.labels.size();
        to.labels.resize(first + size_of(size));
        to.tied.resize(first + size_of(size));
        write_ranked(entries_, label_of, to.labels.data() + first, to.tied.data() + first);
        return {rows.query.start, rows.query.length, size, part, first};
    }

  private:
    Pass& pass_;
    DocumentTable table_;
    std::vector<Entry> entries_;
    std::vector<std::int32_t> labels_;
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
    const auto row = [&](const std::string_view (&columns)[6], const Block& block, std::int64_t, bool begins) {
        if (begins) {
            end_query();
            const std::int64_t at = block.at(columns[0].data());
            rows.begin({0, at, short_length(columns[0].size(), at)});
        }
        const std::int64_t at = block.at(columns[2].data());
        rows.starts.push_back(at);
        rows.lengths.push_back(short_length(columns[2].size(), at));
        const double score = run_score(columns, block, pass.options);
        if (pass.options.lenient && std::isnan(score)) pass.irregular = true;
        rows.scores.push_back(score);
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
    Pass pass{text, judged, rule, options, {}};
    for (std::size_t q = 0; q + 1 < judged.offsets.size(); ++q) pass.places.emplace(judged_queries[static_cast<std::int64_t>(q)], q);
    const Pieces cuts = cut_text(text, options.lenient);
    std::vector<Piece> pieces(size_of(cuts.count()));
    RankedText result;
    try {
        each_piece(cuts, options.threads, [&](std::int64_t number) { rank_piece(pass, cuts, size_of(number), pieces[size_of(number)]); });
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
            ranked[size_of(i)] = ranker.rank(aside[size_of(i)], result.parts[pieces.size() + size_of(i)], pieces.size() + size_of(i));
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
            std::copy_n(from.labels.begin() + static_cast<std::ptrdiff_t>(query.first), query.documents, labels.begin() + first);
            std::copy_n(from.tied.begin() + static_cast<std::ptrdiff_t>(query.first), query.documents, tied.begin() + first);
        }
    });
}

}  // namespace pippin
