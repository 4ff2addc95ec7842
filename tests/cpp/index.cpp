// The index kernels under the sanitizers: words of random bytes, counting in batches against a plain map, postings packed
// and unpacked, whole and damaged, and the best documents against all of them.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "check.hpp"
#include "index/builder.hpp"
#include "index/search.hpp"

using namespace pippin;

namespace {

struct Generator {
    std::uint64_t state = 88172645463325252ULL;
    std::size_t below(std::size_t n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<std::size_t>(state % n);
    }
};

std::vector<std::string> words_of(std::string_view text, bool joined) {
    std::vector<std::string> found;
    std::string room;
    each_word(text, joined, room, [&](std::string_view word, std::uint64_t hash) {
        CHECK(hash == hash_of(word));
        found.emplace_back(word);
    });
    return found;
}

void test_words() {
    using Words = std::vector<std::string>;
    CHECK(words_of("What's in a-b_c'", true) == Words{"whats", "in", "a", "b", "c"});
    CHECK(words_of("What's", false) == Words{"what", "s"});
    CHECK(words_of("'' ' x'' y", true) == Words{"x", "y"});
    CHECK(words_of("caf\xc3\xa9's", true) == Words{"caf\xc3\xa9s"});
    CHECK(words_of("", true).empty());
    Generator random;
    for (int round = 0; round < 2000; ++round) {
        std::vector<char> bytes(random.below(40));  // of exactly its size, so that a byte behind it would be seen
        for (char& byte : bytes) byte = random.below(3) ? "a'B -"[random.below(5)] : static_cast<char>(random.below(256));
        for (const std::string& word : words_of({bytes.data(), bytes.size()}, true)) CHECK(!word.empty());
    }
}

void test_numbering() {
    Numbering numbers;
    for (int round = 0; round < 2; ++round)
        for (std::uint32_t i = 0; i < 5000; ++i) {
            const std::string text = std::to_string(i * 7919 % 5003);
            CHECK(numbers.add(text, hash_of(text)) == i);
        }
    CHECK(numbers.size() == 5000);
    CHECK(numbers.find("x", hash_of("x")) == kNone);
    const auto order = sorted_numbers(numbers);
    CHECK(std::is_sorted(order.begin(), order.end(), [&](auto a, auto b) { return numbers[a] < numbers[b]; }));
}

using Counts = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;  // (term, document)

// Random documents through an indexer, and their counts by a map.
Inverted indexed(int threads, Counts& expected, std::vector<std::uint32_t>& lengths, std::size_t& terms) {
    Generator random;
    Indexer indexer(2, {{0, 1}}, true, 1000);
    std::uint32_t document = 0;
    for (int batch = 0; batch < 3; ++batch) {
        std::vector<std::string> texts(2 * 700);
        for (std::string& text : texts)
            for (std::size_t n = random.below(12); n > 0; --n)
                text += "w" + std::to_string(random.below(1 + random.below(60))) + " ";
        const std::vector<std::string_view> views(texts.begin(), texts.end());
        indexer.read(views, threads);
        std::vector<std::string_view> stems;
        for (std::uint32_t i = indexer.first_new(); i < indexer.words().size(); ++i) stems.push_back(indexer.words()[i]);
        indexer.resolve(stems);
        indexer.count(threads);
        for (std::size_t i = 0; i < texts.size(); ++i)
            for (const std::string& word : words_of(texts[i], true))
                ++expected[{indexer.terms().find(word, hash_of(word)), document + static_cast<std::uint32_t>(i / 2)}];
        document += 700;
        const auto last = indexer.last(2, &StreamPart::lengths);
        lengths.insert(lengths.end(), last.begin(), last.end());
    }
    terms = indexer.terms().size();
    return indexer.invert(2, threads);
}

void test_counts_and_search() {
    Counts expected;
    std::vector<std::uint32_t> lengths;
    std::size_t terms = 0;
    const Inverted inverted = indexed(3, expected, lengths, terms);
    std::size_t at = 0;
    for (std::uint32_t term = 0; term < terms; ++term)
        for (const std::size_t end = at + inverted.sizes[term]; at < end; ++at) {
            const auto found = expected.find({term, inverted.documents[at]});
            CHECK(found != expected.end() && found->second == inverted.counts[at]);
        }
    CHECK(at == expected.size());
    const Packed packed = pack(inverted.sizes, inverted.documents, inverted.counts, lengths, 2);
    CHECK(pack(inverted.sizes, inverted.documents, inverted.counts, lengths, 1).bytes == packed.bytes);
    std::vector<Postings> postings;
    std::size_t start = 0;
    for (std::uint32_t term = 0; term < terms; ++term) {
        const auto size = static_cast<std::size_t>(packed.sizes[term]);
        postings.emplace_back(std::span(packed.bytes).subspan(start, size), lengths.size());
        CHECK(postings.back().occurrences() == packed.occurrences[term]);
        start += size;
    }
    std::vector<std::uint32_t> ranks(lengths.size());
    double total = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        ranks[i] = static_cast<std::uint32_t>(lengths.size() - i), total += lengths[i];
    const double longest = *std::max_element(lengths.begin(), lengths.end());
    const Lengths stream{lengths, total / static_cast<double>(lengths.size()), longest};
    Generator random;
    for (int round = 0; round < 200; ++round) {
        std::vector<std::uint32_t> query;
        for (std::uint32_t term = 0; term < terms; ++term)
            if (random.below(15) == 0) query.push_back(term);
        std::vector<QueryTerm> words(1);
        std::vector<std::vector<std::uint8_t>> known(query.size());
        for (std::size_t i = 0; i < query.size(); ++i) {
            if (random.below(2)) known[i] = frequent_counts(postings[query[i]], lengths.size());
            words.push_back({postings[query[i]], known[i]});
        }
        std::vector<double> scores(lengths.size());
        bm25_scores(stream, words, {2.5, 0.8}, scores);
        const std::size_t n = 1 + random.below(random.below(2) ? 5 : 300);
        AccumulatorPool pool;
        const auto hits = bm25_top(stream, words, {2.5, 0.8}, n, ranks, pool);
        std::vector<Hit> all;
        for (std::uint32_t d = 0; d < lengths.size(); ++d)
            if (std::any_of(query.begin(), query.end(), [&](std::uint32_t term) { return expected.contains({term, d}); }))
                all.push_back({scores[d], ranks[d], d});
        std::sort(all.begin(), all.end(),
                  [](const Hit& a, const Hit& b) { return a.score != b.score ? a.score > b.score : a.rank < b.rank; });
        all.resize(std::min(n, all.size()));
        CHECK(std::equal(hits.begin(), hits.end(), all.begin(), all.end(),
                         [](const Hit& a, const Hit& b) { return a.document == b.document && a.score == b.score; }));
    }
}

// Documents and counts that look like those of a frequent word, or of one with rare, long gaps.
std::vector<std::uint8_t> some_postings(Generator& random, std::size_t size, std::vector<std::uint32_t>& documents,
                                        std::vector<std::uint32_t>& counts, std::vector<std::uint32_t>& lengths) {
    const std::size_t gap = std::size_t{1} << random.below(12);
    std::uint32_t document = 0;
    for (std::size_t i = 0; i < size; ++i) {
        document += static_cast<std::uint32_t>((i > 0) + random.below(random.below(50) ? gap : 40 * gap));
        documents.push_back(document);
        counts.push_back(static_cast<std::uint32_t>(1 + random.below(random.below(9) ? 2 : 70'000)));
    }
    for (std::size_t i = 0; i <= document; ++i) lengths.push_back(static_cast<std::uint32_t>(random.below(100'000)));
    std::vector<std::uint8_t> bytes;
    pack_postings(documents, counts, lengths, bytes);
    return bytes;
}

void test_packing() {
    Generator random;
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint32_t> documents, counts, lengths;
        const auto bytes = some_postings(random, 1 + random.below(600), documents, counts, lengths);
        const Postings postings(bytes, lengths.size());
        std::vector<std::int64_t> found;
        std::vector<double> times;
        unpack_postings(postings, found, times);
        CHECK(std::equal(found.begin(), found.end(), documents.begin(), documents.end()));
        CHECK(std::equal(times.begin(), times.end(), counts.begin(), counts.end()));
        for (std::size_t block = 0; block < postings.full(); ++block) {
            const Skip skip = postings.skip(block);
            for (std::size_t i = block * kPacked; i < (block + 1) * kPacked; ++i)
                CHECK(counts[i] <= decoded(skip.most) && lengths[documents[i]] >= decoded(skip.shortest));
        }
    }
    for (std::uint32_t value = 0; value < 3'000'000; value += 1 + value / 1000)
        CHECK(decoded(code_below(value)) <= value && decoded(code_above(value)) >= value);
}

// Whatever the bytes are, they are postings of ascending documents that exist, or an error.
void test_damage() {
    Generator random;
    for (int round = 0; round < 4000; ++round) {
        std::vector<std::uint32_t> documents, counts, lengths;
        auto bytes = some_postings(random, 1 + random.below(400), documents, counts, lengths);
        const std::size_t head = std::min<std::size_t>(bytes.size(), random.below(2) ? 60 : bytes.size());
        for (std::size_t n = 1 + random.below(4); n > 0; --n)
            bytes[random.below(head)] = static_cast<std::uint8_t>(random.below(256));
        if (random.below(3) == 0) bytes.resize(random.below(bytes.size() + 1));
        const std::vector<std::uint8_t> exactly(bytes);  // of exactly its size, so that a byte behind it would be seen
        try {
            const std::vector<Postings> words = {Postings(exactly, lengths.size())};
            std::vector<std::int64_t> found, numbers;
            std::vector<double> times, scores(lengths.size());
            std::vector<std::uint32_t> ranks(lengths.size());
            for (std::size_t i = 0; i < lengths.size(); i += 1 + random.below(50))
                numbers.push_back(static_cast<std::int64_t>(i));
            std::vector<double> table(numbers.size());
            const std::vector<QueryTerm> asked = {{words[0]}};
            AccumulatorPool pool;
            bm25_top({lengths, 100}, asked, {2.5, 0.8}, 1 + random.below(20), ranks, pool);
            count_in(asked, numbers, table);
            bm25_scores({lengths, 100}, asked, {2.5, 0.8}, scores);
            subtract_postings(words[0], words, lengths);
            unpack_postings(words[0], found, times);
            CHECK(std::is_sorted(found.begin(), found.end(), std::less_equal<>()));
            CHECK(found.empty() || (found.front() >= 0 && found.back() < static_cast<std::int64_t>(lengths.size())));
        } catch (const std::runtime_error&) {
        }
    }
}

}  // namespace

int main() {
    test_packing();
    test_damage();
    test_words();
    test_numbering();
    test_counts_and_search();
    return check::summary();
}
