// Rows of numbers with six decimals, as LETOR's files have them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pippin {

// The prefix of each column's number; a column that is not printed consists of its prefix only.
struct Column {
    std::string before;
    bool printed;
};

// The rows one after the other, NaN as NULL; where each row ends. Every number is one that six decimals can say.
std::string format_decimals(std::span<const double> table, const std::vector<Column>& columns, std::span<std::int64_t> ends);

}  // namespace pippin
