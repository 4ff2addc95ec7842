// Measures and rank order from C++: empty lists, one document, all tied, and lists of 100,000 documents.
#include "measures/measures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "parallel.hpp"
#include "ranking/rank.hpp"
#include "measures/query_value.hpp"

using namespace pippin;
using check::near;

namespace {

constexpr std::array<std::string_view, 16> kNames{"ndcg",        "dcg",     "mean_ndcg", "ap",         "p",     "recall",
                                                  "r_precision", "rr",      "err",       "rbp",        "bpref", "success",
                                                  "f",           "num_ret", "num_rel",   "num_rel_ret"};

// Tables that outlive the rules which look at them.
struct Tables {
    std::vector<double> gains{0, 1, 3, 7, 15}, multipliers, divisors;

    explicit Tables(std::size_t depth) : multipliers(depth, 1.0), divisors(depth) {
        for (std::size_t i = 0; i < depth; ++i) divisors[i] = std::log2(static_cast<double>(i) + 2);
    }
    Rules rules(std::int64_t cutoff = 0) const {
        Rules made{.gains = gains, .multipliers = multipliers, .divisors = divisors};
        made.cutoff = cutoff;
        made.parameter = 0.5;
        return made;
    }
};

struct Query {
    std::vector<std::int32_t> labels, pool;
    std::vector<std::uint8_t> tied;

    explicit Query(std::vector<std::int32_t> ranked, bool all_tied = false) : labels(std::move(ranked)) {
        for (const auto label : labels)
            if (label != kUnjudged) pool.push_back(label);
        std::sort(pool.rbegin(), pool.rend());
        if (all_tied) {
            tied.assign(labels.size(), 1);
            if (!tied.empty()) tied[0] = 0;
        }
    }
    double operator()(std::string_view name, const Rules& rules) const {
        Scratch scratch;
        return find_measure(name)({labels, tied, pool}, rules, scratch);
    }
};

bool undefined_without_relevant(std::string_view name) {
    return name == "ndcg" || name == "mean_ndcg" || name == "ap" || name == "recall" || name == "r_precision" ||
           name == "bpref" || name == "f";
}

void nothing_retrieved() {
    const Tables tables(10);
    for (const auto name : kNames) {
        for (const std::int64_t cutoff : {0, 1, 10}) {
            const double value = Query({})(name, tables.rules(cutoff));
            CHECK(undefined_without_relevant(name) ? std::isnan(value) : value == 0);
        }
        Query missed({});
        missed.pool = {2, 0};  // something was to be found
        CHECK(missed(name, tables.rules(10)) == (name == "num_rel" ? 1 : 0));
    }
    CHECK(find_measure("nothing") == nullptr);
    CHECK(find_measure("") == nullptr);
}

void one_document() {
    const Tables tables(10);
    for (const std::int32_t label : {0, -1, kUnjudged}) {
        const Query query({label});
        for (const auto name : kNames) {
            const double value = query(name, tables.rules(10));
            if (undefined_without_relevant(name)) CHECK(std::isnan(value));
            else CHECK(value == (name == "num_ret" ? 1 : 0));
        }
    }
    const Query query({4});
    for (const auto name : {"ndcg", "mean_ndcg", "ap", "recall", "r_precision", "rr", "success", "num_ret"})
        CHECK(query(name, tables.rules(10)) == 1);
    Rules trec = tables.rules(10);
    trec.parameter = 0;
    CHECK(query("bpref", trec) == 1);
    trec.parameter = 1;  // trectools gives nothing where no document was judged not relevant
    CHECK(query("bpref", trec) == 0);
    CHECK(query("dcg", tables.rules()) == 15);
    CHECK(query("err", tables.rules()) == 15.0 / 16);
    CHECK(query("p", tables.rules(10)) == 1.0 / 10);
    CHECK(query("rbp", tables.rules()) == 0.5);

    Rules rules = tables.rules(10);
    rules.short_is_zero = true;
    CHECK(query("ndcg", rules) == 0);
    rules.short_precision = ShortPrecision::over_list;
    CHECK(query("p", rules) == 1);
    rules.short_precision = ShortPrecision::zero;
    CHECK(query("p", rules) == 0);
    rules.top_gain = 0;  // the query's own top
    CHECK(query("err", rules) == 15.0 / 16);
}

void all_tied() {
    const Tables tables(10);
    const Query query({1, 0, 0}, true);
    const double rank = (1 + 1.0 / 2 + 1.0 / 3) / 3;
    CHECK(near(query("rr", tables.rules()), rank));
    CHECK(near(query("ap", tables.rules()), rank));
    CHECK(near(query("err", tables.rules()), rank / 16));
    CHECK(near(query("p", tables.rules(1)), 1.0 / 3));
    CHECK(near(query("success", tables.rules(2)), 2.0 / 3));
    CHECK(near(query("bpref", tables.rules()), 1.0 / 3));
    CHECK(near(query("ndcg", tables.rules()), (1 + 1 / std::log2(3) + 1.0 / 2) / 3));

    for (const auto name : kNames) {  // where all labels are equal, ties cannot matter
        for (const std::int64_t cutoff : {0, 1, 2, 3, 7}) {
            const double open = Query({2, 2, 2}, true)(name, tables.rules(cutoff));
            CHECK(near(open, Query({2, 2, 2})(name, tables.rules(cutoff))));
        }
    }
}

void long_lists() {
    constexpr std::size_t n = 100'000;
    const Tables tables(n);
    std::mt19937 random(5);
    std::vector<std::int32_t> labels(n);
    for (auto& label : labels) label = static_cast<std::int32_t>(random() % 6) - 1;
    for (const bool tied : {false, true}) {
        const Query query(labels, tied);
        for (const auto name : kNames) {
            // ERR in expectation takes time quadratic in the depth of a group of ties: cut it there.
            const double value = query(name, tables.rules(tied && name == "err" ? 100 : 0));
            CHECK(std::isfinite(value) && value >= 0);
            if (name != "dcg" && !name.starts_with("num")) CHECK(value <= 1 + 1e-12);
        }
    }
    auto best = labels;
    std::sort(best.rbegin(), best.rend());
    CHECK(near(Query(best)("ndcg", tables.rules()), 1));
    CHECK(near(Query(best)("ap", tables.rules()), 1));
    CHECK(near(Query(best)("bpref", tables.rules()), 1));
}

void many_lists() {
    constexpr std::size_t queries = 1000, size = 7;
    const Tables tables(size);
    std::mt19937 random(6);
    std::vector<std::int32_t> labels(queries * size), pool(queries * size);
    std::vector<std::int64_t> offsets(queries + 1), all(queries);
    for (auto& label : labels) label = static_cast<std::int32_t>(random() % 4);
    for (std::size_t q = 0; q <= queries; ++q) offsets[q] = static_cast<std::int64_t>(q * size);
    std::iota(all.begin(), all.end(), 0);
    sort_pools(labels, offsets, all, offsets, pool, 2);
    for (const auto name : kNames) {
        std::vector<double> one(queries), two(queries);
        measure_lists(find_measure(name), tables.rules(5), labels, {}, offsets, pool, offsets, one, 1);
        measure_lists(find_measure(name), tables.rules(5), labels, {}, offsets, pool, offsets, two, 3);
        const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
        CHECK(std::equal(one.begin(), one.end(), two.begin(), same));
    }
    const std::array<std::int64_t, 1> no_query{0};
    measure_lists(find_measure("ndcg"), tables.rules(), {}, {}, no_query, {}, no_query, {}, 2);
}

// A column of texts that owns its bytes.
struct Column {
    std::string bytes;
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> lengths;

    void add(std::string_view text) {
        starts.push_back(static_cast<std::int64_t>(bytes.size()));
        lengths.push_back(static_cast<std::int32_t>(text.size()));
        bytes += text;
    }
    Texts view() const { return {{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, starts, lengths}; }
};

void rank_order() {
    const std::vector<double> scores{0.0, -0.0, 1.0, 1.0 + 0x1p-30, -2.0};
    const std::vector<std::int32_t> labels{0, 1, 2, 3, 4};
    const std::vector<std::int64_t> offsets{0, 0, 5, 5};  // an empty query on either side
    Column ids;
    for (const auto id : {"b", "a", "d", "c", ""}) ids.add(id);
    const auto ranked = [&](Ties ties, bool float32) {
        std::vector<std::int32_t> out(5);
        std::vector<std::uint8_t> tied(5), alike(3);
        rank_lists(scores, labels, offsets, ids.view(), {ties, float32}, {}, out, tied, alike, 2);
        CHECK(alike == std::vector<std::uint8_t>({0, 1, 0}));
        CHECK(tied == std::vector<std::uint8_t>({0, static_cast<std::uint8_t>(float32), 0, 1, 0}));
        return out;
    };
    using Labels = std::vector<std::int32_t>;
    CHECK(ranked(Ties::input, false) == Labels({3, 2, 0, 1, 4}));
    CHECK(ranked(Ties::input, true) == Labels({2, 3, 0, 1, 4}));
    CHECK(ranked(Ties::reversed, true) == Labels({3, 2, 1, 0, 4}));
    CHECK(ranked(Ties::id_descending, true) == Labels({2, 3, 0, 1, 4}));
    CHECK(ranked(Ties::id_ascending, true) == Labels({3, 2, 1, 0, 4}));
    CHECK(ranked(Ties::best, true) == Labels({3, 2, 1, 0, 4}));
    CHECK(ranked(Ties::worst, true) == Labels({2, 3, 0, 1, 4}));
}

void judging() {
    constexpr std::size_t n = 100'000;
    Column run_ids, judged_ids;
    for (std::size_t i = 0; i < n; ++i) run_ids.add("document-" + std::to_string(i));
    for (std::size_t i = 0; i < n; i += 2) judged_ids.add("document-" + std::to_string(i));
    const std::vector<double> scores(n, 1.0);
    const std::vector<std::int32_t> labels(n / 2, 1);
    const std::vector<std::int64_t> run_offsets{0, n}, judged_offsets{0, n / 2}, offsets{0, 0, n};
    const std::vector<std::int64_t> run_of{-1, 0}, judged_of{0, 0};
    std::vector<std::int32_t> ranked(n);
    std::vector<std::uint8_t> tied(n);
    const RunView run{run_ids.view(), scores, run_offsets};
    const JudgedView judged{judged_ids.view(), labels, judged_offsets};
    const Duplicate none = judge_and_rank(run, judged, run_of, judged_of, offsets, {}, ranked, tied, 2);
    CHECK(none.first == -1 && none.second == -1);
    CHECK(ranked[0] == 1 && ranked[1] == kUnjudged && tied[0] == 0 && tied[1] == 1);
    CHECK(std::count(ranked.begin(), ranked.end(), 1) == n / 2);
    judge_and_rank(run, judged, run_of, judged_of, offsets, {Ties::id_descending}, ranked, tied, 2);
    CHECK(ranked[0] == kUnjudged);  // document-99999
    judge_and_rank(run, judged, run_of, judged_of, offsets, {Ties::best}, ranked, tied, 2);
    CHECK(std::is_sorted(ranked.rbegin(), ranked.rend()));
    const std::vector<std::int64_t> nobody{-1, -1};
    judge_and_rank(run, judged, run_of, nobody, offsets, {}, ranked, tied, 2);
    CHECK(std::count(ranked.begin(), ranked.end(), kUnjudged) == n);
}

void duplicates() {
    Column ids;
    for (int query = 0; query < 1000; ++query)
        for (const char* id : {"a", "b", query == 300 || query == 700 ? "a" : "c"}) ids.add(id);
    std::vector<std::int64_t> offsets(1001);
    for (std::size_t q = 0; q < offsets.size(); ++q) offsets[q] = static_cast<std::int64_t>(3 * q);
    for (const int threads : {1, 2, 4}) {
        const Duplicate found = find_duplicate(ids.view(), offsets, threads);
        CHECK(found.first == 900 && found.second == 902);
    }
    CHECK(find_duplicate(ids.view(), std::array<std::int64_t, 1>{0}, 2).second == -1);
}

void blocks() {
    for (const std::int64_t count : {0, 1, 63, 64, 65, 1000}) {
        for (const int threads : {0, 1, 2, 8}) {
            std::vector<int> touched(static_cast<std::size_t>(count));
            parallel_blocks(count, threads, 64, [&](std::int64_t first, std::int64_t last) {
                for (std::int64_t i = first; i < last; ++i) ++touched[static_cast<std::size_t>(i)];
            });
            CHECK(std::all_of(touched.begin(), touched.end(), [](int times) { return times == 1; }));
        }
    }
    int caught = 0;
    try {
        parallel_blocks(1000, 2, 1, [](std::int64_t first, std::int64_t) {
            if (first == 500) throw 500;
        });
    } catch (int what) {
        caught = what;
    }
    CHECK(caught == 500);
}

// What values count: undefined, empty, held in single precision or in digits.
void settling() {
    const double nan = kUndefined;
    CHECK(settle(nan, {.empty = 0.25}) == 0.25);
    CHECK(std::isnan(settle(nan, {.empty = nan, .held = 3})));
    CHECK(settle(1.0 / 3, {.held = kHeldSingle}) == static_cast<double>(1.0F / 3.0F));
    CHECK(settle(-1.0 / 3, {.held = 5}) == -0.33333);
    CHECK(settle(1e300, {.held = 1000}) == 1e300);
    std::vector<double> values{0.5, 0.5, nan, 0.5};
    const std::vector<std::int32_t> pool{2, 0, 1};
    const std::vector<std::int64_t> offsets{0, 2, 3, 3, 3};
    settle_values(values, pool, offsets, 2, {.empty = 0.0, .skip_empty = true});
    CHECK(values[0] == 0.5);
    CHECK(std::isnan(values[1]) && std::isnan(values[2]) && std::isnan(values[3]));
}

}  // namespace

int main() {
    settling();
    nothing_retrieved();
    one_document();
    all_tied();
    long_lists();
    many_lists();
    rank_order();
    judging();
    duplicates();
    blocks();
    return check::summary();
}
