// The measures that only trec_eval prints, in its own order of operations: those of versions 9 and 10, in double
// precision, with those of the field as its drop-in needs them (names that start with "v9_"), and those of 8.1 (names
// that start with "v8_"), in single precision.
#pragma once

#include "measures/measures.hpp"

namespace pippin {

// The measure of that name, or nullptr.
Measure find_trec_measure(std::string_view name);
Measure find_trec_gain_measure(std::string_view name);
Measure find_trec9_measure(std::string_view name);
Measure find_trec8_measure(std::string_view name);

}  // namespace pippin
