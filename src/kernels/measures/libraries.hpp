// Measures that libraries and recommenders added to the field: pairs in order, ranks of relevant documents, averages
// over cutoffs.
#pragma once

#include <string_view>

#include "measures/measures.hpp"

namespace pippin {

// The measure of that name, or nullptr.
Measure find_library_measure(std::string_view name);

}  // namespace pippin
