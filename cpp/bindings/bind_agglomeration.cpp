// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "core/agglomeration.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_agglomeration(nb::module_& m) {
    m.def(
        "agglomerate",
        [](Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<float> data,
           Array<std::int32_t> groups, std::int64_t n_groups, bool mean_nonzero,
           std::optional<Array<float>> scale, unsigned n_threads, const nb::object& progress) {
            const CsrView matrix =
                csr_view(indptr, indices, data, static_cast<std::int64_t>(groups.size()));
            const Context context = make_context(n_threads, progress);
            Csr result;
            {
                const nb::gil_scoped_release release;
                result = agglomerate(context, matrix, groups.data(), n_groups,
                                     mean_nonzero ? Pooling::kMeanNonzero : Pooling::kSum,
                                     scale ? scale->data() : nullptr);
            }
            return to_numpy(std::move(result));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
        "groups"_a.noconvert(), nb::kw_only(), "n_groups"_a, "mean_nonzero"_a,
        "scale"_a.noconvert().none(), "n_threads"_a, "progress"_a.none());
}
