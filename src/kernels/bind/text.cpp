#include "bind.hpp"

namespace pippin {

void bind_text(nb::module_&) {}

}  // namespace pippin
