// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"
#include "bindings/storage.hpp"
#include "core/focusing/focusing.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

void bind_pilot(nb::module_& m) {
    m.def(
        "feature_importance",
        [](const CsrView& X, const CsrView& Y, const Array<std::int32_t>& groups,
           const SolverOptions& options, const std::optional<Array<std::int64_t>>& points,
           FileStorage* storage, unsigned n_threads, const nb::object& progress) {
            require(Y.n_rows == X.n_rows, "Y must have one row per row of X");
            require(n_items(groups) == Y.n_cols, "groups must have one entry per label");
            const auto all_below = [](const auto& array, std::int64_t end) {
                return std::all_of(array.data(), array.data() + n_items(array),
                                   [end](std::int64_t item) { return item >= 0 && item < end; });
            };
            require(all_below(groups, kLanes), "groups must be at least 0 and below 16");
            require(!points || all_below(*points, X.n_rows), "points must be rows of X");
            return to_numpy(run(n_threads, progress, feature_importance, X, Y, groups.data(),
                                pointer(points), points ? n_items(*points) : X.n_rows, options,
                                storage));
        },
        "X"_a, "Y"_a, "groups"_a.noconvert(), "options"_a, nb::kw_only(),
        "points"_a.noconvert().none(), "storage"_a.none() = nb::none(), "n_threads"_a,
        "progress"_a = nb::none());
}

Csr focus(const CsrView& X, const Array<float>& importance, const Array<float>& factor,
          double budget, unsigned n_threads, const nb::object& progress) {
    require(n_items(importance) == X.n_cols && n_items(factor) == X.n_cols,
            "importance and factor must have one entry per feature");
    return run(n_threads, progress, focus_rows, X, importance.data(), factor.data(), budget);
}

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

}  // namespace

void bind_focusing(nb::module_& m) {
    bind_pilot(m);
    bind_focus(m);
}
