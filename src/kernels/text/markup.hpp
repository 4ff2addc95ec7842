// The lines of a page: its texts between block elements, with the looks that elements give them.
//
// The page comes as HTML parsers write it down: every element that is open is closed, values of attributes stand in double
// quotes, and < is escaped in text, but for elements whose content is text alone. What an element does to looks
// is looked up by a callback, once for each name in each look, and where attributes matter; looks are numbers here, 0 that of
// the page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin {

// The look inside an element, by its name, its attributes as written (empty where none matters), and the look outside.
using LookOf = std::function<std::int32_t(std::string_view name, std::string_view attributes, std::int32_t outer)>;

// A line that is not blank.
struct MarkupLine {
    std::vector<std::string> texts;
    std::vector<std::int32_t> looks;  // of each text; where all are alike, there is one text
};

// `blocks` begin and end lines, `unseen` are left out with all that is in them, and `matter` are the attributes that LookOf
// asks for, each as it is written up to its value: names and attributes one after the other, with a blank between.
std::vector<MarkupLine> markup_lines(std::string_view html, std::string_view blocks, std::string_view unseen,
                                     std::string_view matter, const LookOf& look_of);

}  // namespace pippin
