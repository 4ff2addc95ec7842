#include "text/markup.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace pippin {
namespace {

std::vector<std::string_view> split(std::string_view names) {
    std::vector<std::string_view> all;
    while (!names.empty()) {
        const std::size_t blank = std::min(names.find(' '), names.size());
        if (blank > 0) all.push_back(names.substr(0, blank));
        names.remove_prefix(std::min(blank + 1, names.size()));
    }
    return all;
}

// Elements that are never closed, and those whose content is text in which nothing is escaped.
constexpr std::string_view kNeverClosed =
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr";
constexpr std::string_view kPlainText = "iframe noembed noframes noscript plaintext script style xmp";

void add_unescaped(std::string_view text, std::string& plain) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kEscapes{
        {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", "\u00a0"}, {"&quot;", "\""}}};
    for (std::size_t ampersand; (ampersand = text.find('&')) != std::string_view::npos;) {
        plain += text.substr(0, ampersand);
        text.remove_prefix(ampersand);
        const auto escape =
            std::find_if(kEscapes.begin(), kEscapes.end(), [&](const auto& one) { return text.starts_with(one.first); });
        plain += escape == kEscapes.end() ? text.substr(0, 1) : escape->second;
        text.remove_prefix(escape == kEscapes.end() ? 1 : escape->first.size());
    }
    plain += text;
}

// Properties of the elements of a name.
struct Element {
    bool block = false, unseen = false, never_closed = false, plain_text = false;
    std::unordered_map<std::int32_t, std::int32_t> looks;  // inside, by the look outside, where no attribute matters
};

// A tag: its name and attributes as written.
struct Tag {
    std::string_view name, attributes;
    bool closes = false;
};

class Reader {
  public:
    Reader(std::string_view html, std::string_view blocks, std::string_view unseen, std::string_view matter,
           const LookOf& look_of)
        : html_(html), matter_(split(matter)), look_of_(look_of) {
        for (const auto name : split(blocks)) elements_[name].block = true;
        for (const auto name : split(unseen)) elements_[name].unseen = true;
        for (const auto name : split(kNeverClosed)) elements_[name].never_closed = true;
        for (const auto name : split(kPlainText)) elements_[name].plain_text = true;
    }

    std::vector<MarkupLine> read() {
        while (at_ < html_.size()) {
            if (html_[at_] != '<') {
                take_text(until(html_.find('<', at_)));
            } else if (html_.substr(at_).starts_with("<!--")) {
                pass("-->");
            } else if (html_.substr(at_).starts_with("<?") || html_.substr(at_).starts_with("<!")) {
                pass(">");
            } else {
                take_tag(next_tag());
            }
        }
        end_line();
        return std::move(lines_);
    }

  private:
    std::string_view until(std::size_t end) {
        end = std::min(end, html_.size());
        const std::string_view text = html_.substr(at_, end - at_);
        at_ = end;
        return text;
    }

    void pass(std::string_view end) {
        const std::size_t found = html_.find(end, at_);
        at_ = found == std::string_view::npos ? html_.size() : found + end.size();
    }

    // The tag that begins here. A > inside the value of an attribute does not end it.
    Tag next_tag() {
        Tag tag;
        ++at_;
        tag.closes = at_ < html_.size() && html_[at_] == '/';
        at_ += tag.closes;
        tag.name = until(html_.find_first_of(" >", at_));
        const std::size_t first = at_;
        while (at_ < html_.size() && html_[at_] != '>') {
            at_ = std::min(html_.find_first_of("=>", at_), html_.size());
            if (html_.substr(at_).starts_with("=\"")) at_ = std::min(html_.find('"', at_ + 2), html_.size());
            if (at_ < html_.size() && html_[at_] != '>') ++at_;
        }
        tag.attributes = html_.substr(first, at_ - first);
        at_ = std::min(at_ + 1, html_.size());
        return tag;
    }

    void take_text(std::string_view text) {
        if (hidden_.empty()) pieces_.push_back({text, look_, true});
    }

    void take_tag(const Tag& tag) {
        Element& element = elements_[tag.name];
        const bool text_alone = element.plain_text && !tag.closes;
        if (!hidden_.empty()) {  // until the element that hides all this ends; another of its name may be inside
            if (tag.name == hidden_) depth_ += tag.closes ? -1 : 1;
            if (depth_ == 0) hidden_ = {};
            if (text_alone) until(end_of(tag.name));
            return;
        }
        if (element.block) end_line();
        if (tag.closes) {
            if (!outer_.empty()) look_ = outer_.back(), outer_.pop_back();
        } else if (element.unseen) {
            hidden_ = tag.name, depth_ = 1;
            if (text_alone) until(end_of(tag.name));
        } else if (!element.never_closed) {
            outer_.push_back(look_);
            look_ = look_inside(tag, element);
            if (text_alone) pieces_.push_back({until(end_of(tag.name)), look_, false});
        }
    }

    std::size_t end_of(std::string_view name) const { return html_.find("</" + std::string(name) + ">", at_); }

    std::int32_t look_inside(const Tag& tag, Element& element) {
        const auto stands = [&](std::string_view one) { return tag.attributes.find(one) != std::string_view::npos; };
        if (!tag.attributes.empty() && std::any_of(matter_.begin(), matter_.end(), stands))
            return look_of_(tag.name, tag.attributes, look_);
        const auto [known, is_new] = element.looks.try_emplace(look_, 0);
        if (is_new) known->second = look_of_(tag.name, {}, look_);
        return known->second;
    }

    void end_line() {
        const auto blank = [](const Piece& piece) {
            return piece.text.find_first_not_of(" \t\n\r\f") == std::string_view::npos;
        };
        const auto alike = [&](const Piece& piece) { return piece.look == pieces_[0].look; };
        if (!std::all_of(pieces_.begin(), pieces_.end(), blank)) {
            MarkupLine& line = lines_.emplace_back();
            const bool one = std::all_of(pieces_.begin(), pieces_.end(), alike);
            for (const Piece& piece : pieces_) {
                if (!one || line.texts.empty()) line.texts.emplace_back(), line.looks.push_back(piece.look);
                piece.escaped ? add_unescaped(piece.text, line.texts.back()) : void(line.texts.back() += piece.text);
            }
        }
        pieces_.clear();
    }

    struct Piece {
        std::string_view text;
        std::int32_t look;
        bool escaped;
    };

    std::string_view html_;
    std::unordered_map<std::string_view, Element> elements_;
    std::vector<std::string_view> matter_;
    const LookOf& look_of_;
    std::size_t at_ = 0;
    std::string_view hidden_;  // the name of the unseen element that is open, and how many of its name are
    int depth_ = 0;
    std::int32_t look_ = 0;
    std::vector<std::int32_t> outer_;  // looks outside of the elements that are open
    std::vector<Piece> pieces_;
    std::vector<MarkupLine> lines_;
};

}  // namespace

std::vector<MarkupLine> markup_lines(std::string_view html, std::string_view blocks, std::string_view unseen,
                                     std::string_view matter, const LookOf& look_of) {
    return Reader(html, blocks, unseen, matter, look_of).read();
}

}  // namespace pippin
