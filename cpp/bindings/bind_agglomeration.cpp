// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/agglomeration.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_agglomeration(nb::module_& m) {
    nb::enum_<Pooling>(m, "Pooling")
        .value("sum", Pooling::kSum)
        .value("mean_nonzero", Pooling::kMeanNonzero);
    m.def(
        "agglomerate",
        [](const CsrView& X, const Array<std::int32_t>& groups, std::int64_t n_groups,
           Pooling pooling, const std::optional<Array<float>>& scale, unsigned n_threads,
           const nb::object& progress) {
            require(n_items(groups) == X.n_cols, "groups must have one entry per feature");
            require(n_groups >= 0, "n_groups must be >= 0");
            check_size(scale, n_groups, "scale must have one entry per group");
            return run(n_threads, progress, [&](const Context& context) {
                return agglomerate(context, X, groups.data(), n_groups, pooling, pointer(scale));
            });
        },
        "X"_a, "groups"_a.noconvert(), nb::kw_only(), "n_groups"_a, "pooling"_a = Pooling::kSum,
        "scale"_a.noconvert() = nb::none(), "n_threads"_a, "progress"_a = nb::none());
}
