// SPDX-License-Identifier: BSD-3-Clause
#include "core/focusing/focus.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

Csr focus(const CsrView& X, const Array<float>& importance, const Array<float>& factor,
          double budget, unsigned n_threads, const nb::object& progress) {
    require(n_items(importance) == X.n_cols && n_items(factor) == X.n_cols,
            "importance and factor must have one entry per feature");
    return run(n_threads, progress, [&](const Context& context) {
        return focus_rows(context, X, importance.data(), factor.data(), budget);
    });
}

}  // namespace

void bind_focus(nb::module_& m) {
    m.def(
        "focus_kernel_rows",
        [](const KernelRows& X, const Array<float>& importance, const Array<float>& factor,
           double budget, unsigned n_threads, const nb::object& progress) {
            return KernelRows{
                focus(X.matrix.view(), importance, factor, budget, n_threads, progress)};
        },
        "X"_a, "importance"_a.noconvert(), "factor"_a.noconvert(), nb::kw_only(), "budget"_a,
        "n_threads"_a, "progress"_a = nb::none());
    m.def("focus_rows", &focus, "X"_a, "importance"_a.noconvert(), "factor"_a.noconvert(),
          nb::kw_only(), "budget"_a, "n_threads"_a, "progress"_a = nb::none());
}
