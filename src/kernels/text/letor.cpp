#include "text/letor.hpp"

#include <cmath>

namespace pippin {
namespace {

constexpr std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

// A feature id or value ends at a blank or where a comment begins.
const char* field_end(const char* p) {
    while (!is_space(*p) && *p != '#') ++p;
    return p;
}

// Parses the digits at p, saturating below ten times the limit, and advances p.
std::int64_t read_id(const char*& p) {
    std::int64_t id = 0;
    for (; is_digit(*p); ++p)
        if (id <= kLargestFeature) id = id * 10 + (*p - '0');
    return id;
}

std::string too_large(std::string_view id) {
    return "feature id " + std::string(id.substr(0, 40)) + " is above " + std::to_string(kLargestFeature) +
           ", the widest table that is read; number the features from 1 without large gaps";
}

// The last feature id of the line [line, end), read backwards from its comment or end; 0 if there is none to see. What
// is malformed is left to the second pass, which checks every id against the width.
std::int64_t last_feature(const char* line, const char* end, const Block& block) {
    const char* features = column_end(line);            // label
    features = column_end(skip_blanks(features));       // qid:…
    if (features >= end) return 0;
    if (const void* hash = std::memchr(features, '#', size_of(end - features))) end = static_cast<const char*>(hash);
    const char* p = end;
    while (p > features && is_space(p[-1])) --p;
    while (p > features && !is_space(p[-1])) --p;
    const char* digits = p;
    const std::int64_t id = read_id(digits);
    if (*digits != ':') return 0;
    if (id > kLargestFeature) throw TextError(block.at(p), too_large(token_of(p, digits)));
    return id;
}

// The query id of the line that has its label at p.
std::string_view query_id(const char* p, const Block& block) {
    p = skip_blanks(column_end(p));
    const char* const end = column_end(p);
    if (end - p < 4 || std::memcmp(p, "qid:", 4) != 0) {
        if (p == end) throw TextError(block.at(p), "the line ends after the label, where qid: and a query id are expected");
        throw TextError(block.at(p), "qid: and a query id are expected after the label, not " + quoted(token_of(p, end)));
    }
    if (end - p == 4) throw TextError(block.at(p), "query id is missing after qid:");
    return token_of(p + 4, end);
}

// How feature ids look in files that leave none out: ` 1:`, ` 2:` …, as words of eight bytes to compare with at once.
class ExpectedIds {
  public:
    explicit ExpectedIds(std::int64_t width) {
        for (std::int64_t id = 1; id <= std::min<std::int64_t>(width, kMost); ++id) {
            char text[16] = " ";
            char* const end = std::to_chars(text + 1, text + 8, id).ptr;
            *end = ':';
            const std::int64_t size = end + 1 - text;
            const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * size);
            ids_.push_back({load_word(text) & mask, mask, size});
        }
    }
    struct Text {
        std::uint64_t word, mask;
        std::int64_t size;
        bool stands_at(const char* p) const { return (load_word(p) & mask) == word; }
    };
    // Those from `id` on.
    std::span<const Text> from(std::int64_t id) const {
        return std::span(ids_).subspan(std::min(size_of(id) - 1, ids_.size()));
    }

  private:
    static constexpr std::int64_t kMost = 4096;
    std::vector<Text> ids_;
};

// One piece of the second pass.
template <typename T>
class Reader {
  public:
    Reader(const LetorColumns<T>& columns, const ExpectedIds& expected, T absent, std::int64_t row)
        : to_(columns), expected_(expected), absent_(absent), first_(row), row_(row) {}

    void read(const Block& block) {
        block_ = &block;
        for (const char* p = block.begin; p < block.end; ++p) {
            p = skip_blanks(p);
            if (*p == '#') p = line_end(p, block.end);
            if (*p == '\n') continue;
            p = read_query(p, read_label(p));
            p = read_comment(read_features(p));
            to_.lines[size_of(++row_)] = block.at(p) + 1;
        }
    }

    std::vector<Segment> segments;

  private:
    [[noreturn]] void fail(const char* at, const std::string& message) const { throw TextError(block_->at(at), message); }

    const char* read_label(const char* p) {
        const char* end = p + 1;
        std::int32_t label = *p - '0';
        if (!is_digit(*p) || !is_space(*end)) {
            end = column_end(p);
            label = whole_label(token_of(p, end), block_->at(p));
            if (label < 0) fail(p, "the label " + quoted(token_of(p, end)) + " is negative; LETOR labels begin with 0");
        }
        to_.labels[size_of(row_)] = label;
        return end;
    }

    // `line` begins with the label, which ends at `p`.
    const char* read_query(const char* line, const char* p) {
        const std::string_view id = query_id(line, *block_);
        if (segments.empty() || id != query_) {
            segments.push_back({row_ - first_, block_->at(id.data()), short_length(id.size(), block_->at(p))});
            query_ = id;
        }
        return id.data() + id.size();
    }

    const char* read_features(const char* p) {
        T* const out = to_.features.data() + row_ * to_.width;
        std::int64_t before = 0;
        const char* beyond = nullptr;  // an id above the width; a later error in the line may be more specific
        for (;;) {
            p = skip_blanks(read_expected(p, out, before));
            if (*p == '\n' || *p == '#') break;
            const char* const token = p;
            const std::int64_t id = read_id(p);
            if (*p != ':' || p == token) fail(token, quoted(token_of(token, field_end(token))) + " is not a feature id:value");
            if (id <= before || id > kLargestFeature) refuse_id(token, p, id, before);
            if (id > to_.width) [[unlikely]] {
                T unused;
                if (!beyond) beyond = token;
                p = read_value(p + 1, id, unused);
            } else {
                for (std::int64_t gap = before; gap < id - 1; ++gap) out[gap] = absent_;
                p = read_value(p + 1, id, out[id - 1]);
            }
            before = id;
        }
        if (beyond) refuse_beyond(beyond);
        for (std::int64_t gap = before; gap < to_.width; ++gap) out[gap] = absent_;
        return p;
    }

    // Features that follow one another without a gap, as in most files; `before` becomes the last of them.
    const char* read_expected(const char* p, T* out, std::int64_t& before) const {
        T* to = out + before;
        for (const ExpectedIds::Text& id : expected_.from(before + 1)) {
            if (!id.stands_at(p)) break;
            p += id.size;
            double value;
            if (const char* const end = read_short_number(p, value)) [[likely]] {
                *to = static_cast<T>(value);
                p = end;
            } else {
                p = read_value(p, to - out + 1, *to);
            }
            ++to;
        }
        before = to - out;
        return p;
    }

    [[noreturn]] void refuse_id(const char* token, const char* end, std::int64_t id, std::int64_t before) const {
        const std::string shown(token_of(token, std::min(end, token + 40)));
        if (id == 0) fail(token, "feature id 0 is not allowed; feature ids begin with 1");
        if (id > kLargestFeature) fail(token, too_large(shown));
        fail(token, "feature " + shown + " follows feature " + std::to_string(before) + "; feature ids must ascend");
    }

    [[noreturn]] void refuse_beyond(const char* token) const {
        const char* end = token;
        while (is_digit(*end)) ++end;
        fail(token,
             "feature id " + std::string(token, end) + " is above the " + std::to_string(to_.width) + " features to read");
    }

    const char* read_value(const char* p, std::int64_t id, T& out) const {
        double value;
        const char* end = read_number(p, value);
        if (end == p || !(is_space(*end) || *end == '#')) [[unlikely]] {
            end = field_end(p);
            const std::string_view token = token_of(p, end);
            if (token == "NULL") {
                value = std::numeric_limits<double>::quiet_NaN();
            } else if (!whole_number(token, value)) {
                fail(p, "the value " + quoted(token) + " of feature " + std::to_string(id) + " is not a number");
            }
        }
        out = static_cast<T>(value);
        if (std::isinf(out)) [[unlikely]]
            fail(p, "the value " + quoted(token_of(p, end)) + " of feature " + std::to_string(id) + " is not a finite " +
                        (sizeof(T) == 4 ? "32-bit number" : "number"));
        return end;
    }

    // The comment and `docid = X` at its start. Returns the newline.
    const char* read_comment(const char* p) {
        std::int64_t& document = to_.document_starts[size_of(row_)];
        std::int64_t& comment = to_.comment_starts[size_of(row_)];
        document = comment = 0;
        to_.document_lengths[size_of(row_)] = to_.comment_lengths[size_of(row_)] = -1;
        if (*p == '\n') return p;
        const char* const newline = line_end(p, block_->end);
        const char* const last = newline - (newline[-1] == '\r');
        comment = block_->at(++p);
        to_.comment_lengths[size_of(row_)] = short_length(size_of(last - p), comment);
        p = skip_blanks(p);
        if (last - p > 5 && std::memcmp(p, "docid", 5) == 0 && *(p = skip_blanks(p + 5)) == '=') {
            p = skip_blanks(p + 1);
            const char* const end = column_end(p);
            document = block_->at(p);
            if (end > p) to_.document_lengths[size_of(row_)] = short_length(size_of(end - p), document);
        }
        return newline;
    }

    const LetorColumns<T>& to_;
    const ExpectedIds& expected_;
    const T absent_;
    const std::int64_t first_;
    std::int64_t row_;
    const Block* block_ = nullptr;
    std::string_view query_;
};

template <typename N>
void append_shortest(std::string& text, N value) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void append_number(std::string& text, double value) { append_shortest(text, value); }
void append_number(std::string& text, float value) { append_shortest(text, value); }
void append_number(std::string& text, std::int64_t value) { append_shortest(text, value); }

LetorShape scan_letor(Bytes text, int threads) {
    LetorShape shape{cut_text(text), 0};
    Pieces& pieces = shape.pieces;
    std::vector<std::int64_t> widths(size_of(pieces.count()), 0);
    each_piece(pieces, threads, [&](std::int64_t piece) {
        const std::int64_t first = pieces.cuts[size_of(piece)], last = pieces.cuts[size_of(piece) + 1];
        check_text(text, first, last);
        std::int64_t rows = 0, width = 0;
        each_block(text, first, last, [&](const Block& block) {
            for (const char* p = block.begin; p < block.end;) {
                const char* const line = skip_blanks(p);
                const char* const end = line_end(line, block.end);
                p = end + 1;
                if (*line == '\n' || *line == '#') continue;
                ++rows;
                width = std::max(width, last_feature(line, end, block));
            }
        });
        pieces.rows[size_of(piece) + 1] = rows;
        widths[size_of(piece)] = width;
    });
    for (std::size_t i = 1; i < pieces.rows.size(); ++i) {
        pieces.rows[i] += pieces.rows[i - 1];
        shape.width = std::max(shape.width, widths[i - 1]);
    }
    return shape;
}

std::vector<QueryLines> find_queries(Bytes text, int threads) {
    const Pieces pieces = cut_text(text);
    std::vector<std::vector<QueryLines>> parts(size_of(pieces.count()));
    const auto id = [&](const QueryLines& query) {
        return std::string_view(reinterpret_cast<const char*>(text.data()) + query.start, size_of(query.length));
    };
    each_piece(pieces, threads, [&](std::int64_t piece) {
        const std::int64_t first = pieces.cuts[size_of(piece)], last = pieces.cuts[size_of(piece) + 1];
        check_text(text, first, last);
        std::vector<QueryLines>& found = parts[size_of(piece)];
        each_block(text, first, last, [&](const Block& block) {
            for (const char* p = block.begin; p < block.end;) {
                const char* const begin = p;
                const char* const line = skip_blanks(p);
                const char* const end = line_end(line, block.end);
                p = end + 1;
                if (*line == '\n' || *line == '#') continue;
                const std::string_view query = query_id(line, block);
                if (found.empty() || id(found.back()) != query)
                    found.push_back(
                        {block.at(begin), block.at(query.data()), short_length(query.size(), block.at(line)), 0, 0});
                ++found.back().rows;
                found.back().width = std::max(found.back().width, last_feature(line, end, block));
            }
        });
    });
    std::vector<QueryLines> all;
    for (const std::vector<QueryLines>& part : parts)
        for (const QueryLines& query : part) {
            if (all.empty() || id(all.back()) != id(query)) {
                all.push_back(query);
            } else {
                all.back().rows += query.rows;
                all.back().width = std::max(all.back().width, query.width);
            }
        }
    return all;
}

template <typename T>
std::vector<Segment> parse_letor(Bytes text, const Pieces& pieces, T absent, const LetorColumns<T>& columns, int threads) {
    std::vector<std::vector<Segment>> parts(size_of(pieces.count()));
    const ExpectedIds expected(columns.width);
    each_piece(pieces, threads, [&](std::int64_t piece) {
        Reader<T> reader(columns, expected, absent, pieces.rows[size_of(piece)]);
        each_block(text, pieces.cuts[size_of(piece)], pieces.cuts[size_of(piece) + 1],
                   [&](const Block& block) { reader.read(block); });
        parts[size_of(piece)] = std::move(reader.segments);
    });
    columns.lines.front() = 0;
    columns.lines.back() = static_cast<std::int64_t>(text.size());
    return join_segments(text, parts, pieces.rows);
}

template <typename T>
std::string format_letor(const LetorRows<T>& rows, std::int64_t first, std::int64_t last) {
    std::string text;
    auto query = std::upper_bound(rows.offsets.begin(), rows.offsets.end(), first) - rows.offsets.begin() - 1;
    for (std::int64_t row = first; row < last; ++row) {
        while (rows.offsets[size_of(query + 1)] <= row) ++query;
        append_number(text, std::int64_t{rows.labels[size_of(row)]});
        text.append(" qid:").append(rows.query_ids[query]);
        for (std::int64_t f = 0; f < rows.width; ++f) {
            const T value = rows.features[size_of(row * rows.width + f)];
            append_number(text += ' ', f + 1);
            text += ':';
            if (std::isnan(value)) {
                text += "NULL";
            } else {
                append_number(text, value);
            }
        }
        if (!rows.comments.starts.empty() && !rows.comments[row].empty()) text.append(" #").append(rows.comments[row]);
        text += '\n';
    }
    return text;
}

std::string format_numbers(std::span<const double> numbers) {
    std::string text;
    for (const double number : numbers) {
        append_number(text, number);
        text += '\n';
    }
    return text;
}

template std::vector<Segment> parse_letor(Bytes, const Pieces&, float, const LetorColumns<float>&, int);
template std::vector<Segment> parse_letor(Bytes, const Pieces&, double, const LetorColumns<double>&, int);
template std::string format_letor(const LetorRows<float>&, std::int64_t, std::int64_t);
template std::string format_letor(const LetorRows<double>&, std::int64_t, std::int64_t);

}  // namespace pippin
