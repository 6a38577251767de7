// SPDX-License-Identifier: BSD-3-Clause
#include "core/focusing/pilot.hpp"

#include <algorithm>
#include <optional>

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_pilot(nb::module_& m) {
    m.def(
        "feature_importance",
        [](const CsrView& X, const CsrView& Y, const Array<std::int32_t>& groups,
           const SolverOptions& options, const std::optional<Array<std::int64_t>>& points,
           unsigned n_threads, const nb::object& progress) {
            require(Y.n_rows == X.n_rows, "Y must have one row per row of X");
            require(n_items(groups) == Y.n_cols, "groups must have one entry per label");
            const auto all_below = [](const auto& array, std::int64_t end) {
                return std::all_of(array.data(), array.data() + n_items(array),
                                   [end](std::int64_t item) { return item >= 0 && item < end; });
            };
            require(all_below(groups, kLanes), "groups must be at least 0 and below 16");
            require(!points || all_below(*points, X.n_rows), "points must be rows of X");
            return to_numpy(run(n_threads, progress, [&](const Context& context) {
                return feature_importance(context, X, Y, groups.data(), pointer(points),
                                          points ? n_items(*points) : X.n_rows, options);
            }));
        },
        "X"_a, "Y"_a, "groups"_a.noconvert(), "options"_a, nb::kw_only(),
        "points"_a.noconvert().none(), "n_threads"_a, "progress"_a = nb::none());
}
