// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/layout_arrays.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_co_occurrence(nb::module_& m) {
    m.def(
        "co_occurrence",
        [](const CsrArrays& matrix, const LayoutArrays& layout, bool cosine, unsigned n_threads) {
            const CsrView view =
                csr_view(matrix, static_cast<std::int64_t>(std::get<0>(layout).size()));
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return co_occurrence(context, view, layout_view(layout), cosine);
            }));
        },
        "matrix"_a.noconvert(), "layout"_a.noconvert(), nb::kw_only(), "cosine"_a, "n_threads"_a);
}
