// The Python module: one line per area, each bound in its own file under bind/.
#include "bind/bind.hpp"

NB_MODULE(_native, m) {
    m.doc() = "Pippin's kernels. Call them through pippin.kernels, which states each contract.";
    pippin::bind_text(m);
    pippin::bind_rank(m);
    pippin::bind_run_ranks(m);
    pippin::bind_nested(m);
    pippin::bind_measures(m);
    pippin::bind_correlation(m);
    pippin::bind_significance(m);
    pippin::bind_pairs(m);
    pippin::bind_svmmap(m);
    pippin::bind_lambda(m);
    pippin::bind_listwise(m);
    pippin::bind_objective(m);
    pippin::bind_boosting(m);
    pippin::bind_coordinate(m);
    pippin::bind_index(m);
    pippin::bind_markup(m);
    pippin::bind_links(m);
    pippin::bind_hits(m);
    pippin::bind_neighbourhood(m);
    pippin::bind_decimals(m);
    pippin::bind_checksum(m);
    pippin::bind_forest(m);
    pippin::bind_linear(m);
}
