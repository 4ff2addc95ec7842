// The main kernels, each once on a small input that is the same everywhere: what callgrind counts the instructions of
// (count.py). `kernels NAME` prepares the input and then does the work within `measured_work`, the only function counted.
#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "statistics/correlation.hpp"
#include "scoring/forest.hpp"
#include "training/lambdas.hpp"
#include "text/letor.hpp"
#include "graph/links.hpp"
#include "measures/measures.hpp"
#include "ranking/rank.hpp"
#include "ranking/streaming_rank.hpp"
#include "text/trec.hpp"

using namespace pippin;

namespace {

// A generator of our own, so that every library draws the same numbers.
struct Draw {
    std::uint64_t state = 88172645463325252ULL;
    std::uint64_t operator()() {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return state;
    }
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>((*this)() % static_cast<std::uint64_t>(n)); }
    double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
};

constexpr std::int64_t kQueries = 40, kDocuments = 100, kRows = kQueries * kDocuments, kFeatures = 46;

struct Input {
    Draw draw;
    std::vector<double> scores;
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> offsets;
    std::string run, judgements, letor, ids, query_ids;
    std::vector<std::int64_t> starts, query_starts;
    std::vector<std::int32_t> lengths, query_lengths;

    Input() {
        for (std::int64_t q = 0; q <= kQueries; ++q) offsets.push_back(q * kDocuments);
        for (std::int64_t row = 0; row < kRows; ++row) add_row(row);
    }
    void add_row(std::int64_t row) {
        const std::string query = std::to_string(row / kDocuments), id = "doc" + std::to_string(draw.below(9) + 10 * row);
        scores.push_back(static_cast<double>(draw.below(4000)) / 128);
        labels.push_back(static_cast<std::int32_t>(draw.below(5)));
        if (row % kDocuments == 0) {
            query_starts.push_back(static_cast<std::int64_t>(query_ids.size()));
            query_lengths.push_back(static_cast<std::int32_t>(query.size()));
            query_ids += query;
        }
        starts.push_back(static_cast<std::int64_t>(ids.size()));
        lengths.push_back(static_cast<std::int32_t>(id.size()));
        ids += id;
        const std::string label = std::to_string(labels.back());
        run += query + " Q0 " + id + " 1 " + std::to_string(scores.back()) + " tag\n";
        judgements += query + " 0 " + id + " " + label + "\n";
        letor += label + " qid:" + query;
        for (std::int64_t f = 1; f <= kFeatures; ++f) letor += " " + std::to_string(f) + ":" + std::to_string(draw.unit());
        letor += " #docid = " + id + "\n";
    }
    static Bytes bytes(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }
    Texts documents() const { return {bytes(ids), starts, lengths}; }
    Texts queries() const { return {bytes(query_ids), query_starts, query_lengths}; }
};

__attribute__((noinline)) void measured_work(const std::function<void()>& work) { work(); }

void trec(const Input& in, bool run) {
    Pieces pieces = cut_text(Input::bytes(run ? in.run : in.judgements));
    std::vector<std::int64_t> starts(kRows);
    std::vector<std::int32_t> lengths(kRows), labels(kRows);
    std::vector<double> scores(kRows);
    measured_work([&] {
        const Bytes text = Input::bytes(run ? in.run : in.judgements);
        count_lines(text, pieces, false, 1);
        if (run) {
            parse_run(text, pieces, {}, starts, lengths, scores);
        } else {
            parse_judgements(text, pieces, {}, starts, lengths, labels);
        }
    });
}

void letor(const Input& in) {
    std::vector<double> features(kRows * kFeatures);
    std::vector<std::int32_t> labels(kRows), document_lengths(kRows), comment_lengths(kRows);
    std::vector<std::int64_t> lines(kRows + 1), document_starts(kRows), comment_starts(kRows);
    measured_work([&] {
        const LetorShape shape = scan_letor(Input::bytes(in.letor), 1);
        const LetorColumns<double> to{features,        kFeatures,        labels,         lines,
                                      document_starts, document_lengths, comment_starts, comment_lengths};
        parse_letor(Input::bytes(in.letor), shape.pieces, 0.0, to, 1);
    });
}

void ranked_while_read(const Input& in) {
    const JudgedView judged{in.documents(), in.labels, in.offsets};
    measured_work([&] { rank_run(Input::bytes(in.run), judged, in.queries(), {Ties::id_descending, true}, {}); });
}

void ranked(const Input& in) {
    std::vector<std::int32_t> labels(kRows);
    std::vector<std::uint8_t> tied(kRows), alike(in.offsets.size() - 1);
    measured_work([&] {
        rank_lists(in.scores, in.labels, in.offsets, in.documents(), {Ties::id_descending, false}, {}, labels, tied, alike, 1);
    });
}

Rules ndcg_rules(const std::vector<double>& gains, const std::vector<double>& ones, const std::vector<double>& logs) {
    Rules rules;
    rules.gains = gains, rules.multipliers = ones, rules.divisors = logs, rules.cutoff = 10;
    return rules;
}

struct Tables {
    std::vector<double> gains{0, 1, 3, 7, 15}, ones = std::vector<double>(kDocuments, 1.0), logs;
    Tables() {
        for (std::int64_t i = 0; i < kDocuments; ++i) logs.push_back(1.0 + static_cast<double>(i) / 8);
    }
};

void measured(const Input& in, const char* name) {
    const Tables tables;
    std::vector<std::int32_t> pool(kRows);
    std::vector<double> values(kQueries);
    std::vector<std::int64_t> queries;
    for (std::int64_t q = 0; q < kQueries; ++q) queries.push_back(q);
    sort_pools(in.labels, in.offsets, queries, in.offsets, pool, 1);
    const Rules rules = ndcg_rules(tables.gains, tables.ones, tables.logs);
    measured_work([&] { measure_lists(find_measure(name), rules, in.labels, {}, in.offsets, pool, in.offsets, values, 1); });
}

void forces(const Input& in) {
    const Tables tables;
    const Rules rules = ndcg_rules(tables.gains, tables.ones, tables.logs);
    std::vector<std::int64_t> order(kRows);
    std::vector<double> gradient(kRows), hessian(kRows), scales(kQueries, 0.1);
    order_lists(in.scores, in.labels, in.offsets, {}, {}, order, 1);
    const std::vector<double> weights = rank_weights(Target::ndcg, rules, kDocuments, false);
    measured_work([&] {
        lambdas(Target::ndcg, rules, weights, in.scores, in.labels, in.offsets, order, scales, 1.0, false, false, gradient,
                hessian, 1);
    });
}

void pairs(const Input& in) {
    std::vector<double> other;
    Draw draw;
    for (const double score : in.scores) other.push_back(score + static_cast<double>(draw.below(8)));
    std::vector<std::int64_t> columns[6];
    for (auto& column : columns) column.resize(kRows);
    measured_work([&] {
        rank_with_ties(in.scores, true, 0, columns[0], columns[1], columns[2]);
        rank_with_ties(other, true, 0, columns[3], columns[4], columns[5]);
        count_pairs({columns[0], columns[1], columns[2]}, {columns[3], columns[4], columns[5]});
    });
}

void linked(const Input&) {
    Draw draw;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> columns;
    for (std::int64_t page = 0; page < kRows; ++page) {
        for (std::int64_t n = draw.below(20); n > 0; --n) columns.push_back(static_cast<std::int32_t>(draw.below(kRows)));
        offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
    std::vector<double> values(kRows, 1.0), sums(kRows);
    measured_work([&] { link_sums({offsets, columns}, values, 1, sums, 1); });
}

const std::map<std::string, std::function<void(const Input&)>> kKernels{
    {"read a run", [](const Input& in) { trec(in, true); }},
    {"read judgements", [](const Input& in) { trec(in, false); }},
    {"read LETOR text", letor},
    {"rank a run as it is read", ranked_while_read},
    {"rank lists", ranked},
    {"NDCG@10", [](const Input& in) { measured(in, "ndcg"); }},
    {"AP", [](const Input& in) { measured(in, "ap"); }},
    {"ERR", [](const Input& in) { measured(in, "err"); }},
    {"lambdas for NDCG@10", forces},
    {"pairs of two rankings (tau)", pairs},
    {"sums along links", linked},
};

}  // namespace

int main(int count, char** words) {
    if (count < 2) {
        for (const auto& [name, work] : kKernels) std::printf("%s\n", name.c_str());
        return 0;
    }
    kKernels.at(words[1])(Input());
    return 0;
}
