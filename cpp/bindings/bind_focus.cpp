// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/focus.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_focus(nb::module_& m) {
    m.def(
        "focus_rows",
        [](const CsrArrays& matrix, const Array<float>& importance, const Array<float>& factor,
           double budget, unsigned n_threads, const nb::object& progress) {
            if (importance.size() != factor.size()) {
                throw nb::value_error("importance and factor must have the same length");
            }
            const CsrView view = csr_view(matrix, static_cast<std::int64_t>(importance.size()));
            return to_numpy(run(n_threads, progress, [&](const Context& context) {
                return focus_rows(context, view, importance.data(), factor.data(), budget);
            }));
        },
        "matrix"_a.noconvert(), "importance"_a.noconvert(), "factor"_a.noconvert(), nb::kw_only(),
        "budget"_a, "n_threads"_a, "progress"_a.none());
}
