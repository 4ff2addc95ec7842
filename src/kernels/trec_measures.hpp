// The measures that only trec_eval prints, in its own order of operations.
#pragma once

#include "measures.hpp"

namespace pippin {

Measure find_trec_measure(std::string_view name);

}  // namespace pippin
