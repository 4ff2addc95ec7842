// Feeds the parsers seed files mutated by a fixed generator, and plain random bytes, under the sanitizers. Every input
// sits in a block of its own size, so that a read past its end is seen. Also: 1 and 3 threads give the same rows, and
// numbers are those of strtod.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "text/letor.hpp"
#include "text/text.hpp"
#include "text/trec.hpp"

using namespace pippin;

namespace {

struct Generator {
    std::uint64_t state = 88172645463325252ULL;
    std::uint64_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
};

const std::vector<std::string> kSeeds = {
    "2 qid:10 1:0.5 2:-3e2 3:7 #docid = GX1 inc = 1 prob = 0.25\n0 qid:10 1:1 2:.5 3:NULL # x\n1.0 qid:a 2:1.5#y\r\n",
    "# c\n\n0 qid:1 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10 11:1234567.12345678 12:123456789\n",
    "q1 0 d1 1\nq1 0 d2 -1\n# c\nq2 Q0 d1 2.0\n",
    "q1 Q0 d1 1 0.5 mine\nq1\tQ0  d2 2 -1e-3 other\n\nq2 Q0 d1 1 7 third\r\nq2 Q0 GX000-00-0000000 2 6.5 "
    "a-long-tag-of-a-run-that-fills-the-line\n",
    "1\n2.5\n-3e-7\n12345678.12345678\n\n",
    "1e400\n-0x1p3\ninfinity\nnan(1)\n0.00000000000000000000000000000000000001234567890123456789e-280\n\xc3\xa9\n",
};
const std::string kAlphabet = " \t\n\r:#.-+eE0123456789qidNULx\xc3\xa9\xff";

std::string mutated(Generator& random) {
    std::string text = kSeeds[random.below(kSeeds.size())];
    for (std::size_t copies = random.below(3); copies > 0; --copies) text += kSeeds[random.below(kSeeds.size())];
    for (std::size_t edits = 1 + random.below(8); edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random.below(text.size());
        switch (random.below(5)) {
            case 0: text[at] = static_cast<char>(random.next()); break;
            case 1: text[at] = kAlphabet[random.below(kAlphabet.size())]; break;
            case 2: text.erase(at, 1 + random.below(12)); break;
            case 3: text.insert(at, text.substr(random.below(text.size()), random.below(40))); break;
            default: text.insert(at, 1 + random.below(30), kAlphabet[random.below(kAlphabet.size())]);
        }
    }
    return text;
}

std::string random_bytes(Generator& random) {
    std::string text(1 + random.below(200), '\0');
    const bool plain = random.below(2);
    for (char& c : text) c = plain ? kAlphabet[random.below(kAlphabet.size())] : static_cast<char>(random.next());
    return text;
}

// What a parser made of a text: the error, or all columns as bytes.
template <typename Work>
std::string outcome(Work&& work) {
    try {
        return work();
    } catch (const TextError& error) {
        return std::to_string(error.offset) + error.what();
    }
}

template <typename T>
void append(std::string& to, const std::vector<T>& column, std::int64_t rows) {
    to.append(reinterpret_cast<const char*>(column.data()), static_cast<std::size_t>(rows) * sizeof(T));
}

void append(std::string& to, const std::vector<Segment>& segments) {
    for (const Segment& s : segments)
        to += std::to_string(s.row) + "," + std::to_string(s.start) + "," + std::to_string(s.length) + ";";
}

template <typename T>
std::string letor(Bytes text, int threads) {
    const LetorShape shape = scan_letor(text, threads);
    const std::int64_t rows = shape.pieces.rows.back();
    if (rows * shape.width > 50'000'000) return "wide";
    const auto n = static_cast<std::size_t>(rows);
    std::vector<T> features(n * static_cast<std::size_t>(shape.width));
    std::vector<std::int32_t> labels(n), document_lengths(n), comment_lengths(n);
    std::vector<std::int64_t> lines(n + 1), document_starts(n), comment_starts(n);
    const LetorColumns<T> columns{features,        shape.width,      labels,         lines,
                                  document_starts, document_lengths, comment_starts, comment_lengths};
    std::string result;
    append(result, parse_letor<T>(text, shape.pieces, T(0), columns, threads));
    append(result, features, static_cast<std::int64_t>(features.size()));
    append(result, labels, rows);
    append(result, lines, rows + 1);
    append(result, document_starts, rows);
    append(result, comment_lengths, rows);
    return result;
}

std::string queries(Bytes text, int threads) {
    std::string result;
    for (const QueryLines& query : find_queries(text, threads)) {
        if (query.start + query.length > static_cast<std::int64_t>(text.size())) return "a query id reaches past the end";
        for (const std::int64_t number : {query.begin, query.start, std::int64_t{query.length}, query.rows, query.width})
            result += std::to_string(number) + ",";
    }
    return result;
}

template <typename T, typename Parse>
std::string trec(Bytes text, bool lenient, bool comments, int threads, Parse&& parse) {
    Pieces pieces = cut_text(text, lenient);
    count_lines(text, pieces, lenient, threads);
    const auto n = static_cast<std::size_t>(pieces.rows.back());
    std::vector<std::int64_t> starts(n);
    std::vector<std::int32_t> lengths(n);
    std::vector<T> values(n);
    const TrecIndex index = parse(text, pieces, ReadOptions{lenient, threads, comments, comments}, starts, lengths, values);
    std::string result;
    append(result, index.segments);
    append(result, starts, index.rows);
    append(result, lengths, index.rows);
    append(result, values, index.rows);
    for (std::int64_t row = 0; row < index.rows; ++row)
        if (starts[static_cast<std::size_t>(row)] + lengths[static_cast<std::size_t>(row)] >
            static_cast<std::int64_t>(text.size()))
            result = "a document id reaches past the end of the text";
    return result;
}

std::string scores(Bytes text, bool lenient, int threads) {
    Pieces pieces = cut_text(text, lenient);
    count_lines(text, pieces, lenient, threads);
    std::vector<double> values(static_cast<std::size_t>(pieces.rows.back()));
    std::string result;
    append(result, values, parse_scores(text, pieces, ReadOptions{lenient, threads, true, false}, values));
    return result;
}

std::string everything(Bytes text, int threads) {
    std::string all =
        outcome([&] { return letor<double>(text, threads); }) + outcome([&] { return letor<float>(text, threads); });
    for (const bool lenient : {false, true}) {
        for (const bool comments : {false, true}) {
            all += outcome([&] { return trec<double>(text, lenient, comments, threads, parse_run); });
            all += outcome([&] { return trec<std::int32_t>(text, lenient, comments, threads, parse_judgements); });
        }
        all += outcome([&] { return scores(text, lenient, threads); });
    }
    return all;
}

bool number_agrees(Generator& random) {
    static const std::string kinds = "0123456789012345678901234567890123456789.e+-";
    std::string token(1 + random.below(28), '0');
    for (char& c : token) c = kinds[random.below(kinds.size())];
    double value = 0;
    char* end = nullptr;
    const double expected = std::strtod(token.c_str(), &end);
    const bool whole = *end == '\0';
    if (whole_number(token, value) != whole) return false;
    if (whole && std::bit_cast<std::uint64_t>(value) != std::bit_cast<std::uint64_t>(expected)) return false;
    const double leading = leading_number(token, true);
    return std::bit_cast<std::uint64_t>(leading) == std::bit_cast<std::uint64_t>(end == token.c_str() ? 0.0 : expected);
}

}  // namespace

int main() {
    Generator random;
    int passed = 0, failed = 0;
    const auto expect = [&](bool good, const char* what, const std::string& text) {
        ++(good ? passed : failed);
        if (!good) std::printf("%s: %s\n", what, text.c_str());
    };
    for (int round = 0; round < 10'000; ++round) {
        const std::string text = round % 4 ? mutated(random) : random_bytes(random);
        if (text.empty()) continue;
        const std::unique_ptr<std::uint8_t[]> exact(new std::uint8_t[text.size()]);
        std::memcpy(exact.get(), text.data(), text.size());
        everything({exact.get(), text.size()}, 1);
        ++passed;
    }
    for (int round = 0; round < 6; ++round) {  // several megabytes, so that there are several pieces
        std::string text;
        const std::string& seed = kSeeds[static_cast<std::size_t>(round) % kSeeds.size()];
        while (text.size() < 2'500'000) text += round % 2 ? seed + "\n" : seed;
        if (round >= 3) text[random.below(text.size())] = static_cast<char>(random.next());
        if (round == 5) text.append(2'000'000, 'x');
        const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        expect(everything(bytes, 1) == everything(bytes, 3), "1 and 3 threads differ", seed);
    }
    for (int round = 0; round < 100'000; ++round) expect(number_agrees(random), "a number differs from strtod", "");
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
