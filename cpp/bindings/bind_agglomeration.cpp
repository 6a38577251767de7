// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/agglomeration.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_agglomeration(nb::module_& m) {
    m.def(
        "agglomerate",
        [](const CsrArrays& matrix, const Array<std::int32_t>& groups, std::int64_t n_groups,
           bool mean_nonzero, const std::optional<Array<float>>& scale, unsigned n_threads,
           const nb::object& progress) {
            const CsrView view = csr_view(matrix, static_cast<std::int64_t>(groups.size()));
            require(n_groups >= 0, "n_groups must be >= 0");
            check_size(scale, n_groups, "scale must have one entry per group");
            const Pooling pooling = mean_nonzero ? Pooling::kMeanNonzero : Pooling::kSum;
            return to_numpy(run(n_threads, progress, [&](const Context& context) {
                return agglomerate(context, view, groups.data(), n_groups, pooling, pointer(scale));
            }));
        },
        "matrix"_a.noconvert(), "groups"_a.noconvert(), nb::kw_only(), "n_groups"_a,
        "mean_nonzero"_a, "scale"_a.noconvert().none(), "n_threads"_a, "progress"_a.none());
}
