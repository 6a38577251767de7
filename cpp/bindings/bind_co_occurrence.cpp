// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/csr_caster.hpp"
#include "bindings/group_layout_arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_co_occurrence(nb::module_& m) {
    m.def(
        "co_occurrence",
        [](const CsrView& X, const GroupLayoutArrays& layout, bool cosine, unsigned n_threads) {
            require(layout.n_features() == X.n_cols, "a layout must have one group per feature");
            const GroupLayout view = layout.view();
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return co_occurrence(context, X, view, cosine);
            }));
        },
        "X"_a, "layout"_a, nb::kw_only(), "cosine"_a, "n_threads"_a);
}
