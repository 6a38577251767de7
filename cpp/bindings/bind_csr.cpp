// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_csr(nb::module_& m) {
    m.def(
        "inspect_csr",
        [](Array<std::int64_t> indptr, Array<std::int32_t> indices, std::int64_t n_cols) {
            const ReleasedGil released;
            const CsrView matrix{static_cast<std::int64_t>(indptr.size()) - 1, n_cols,
                                 indptr.data(), indices.data(), nullptr};
            return static_cast<int>(inspect(matrix, static_cast<std::int64_t>(indices.size())));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), nb::kw_only(), "n_cols"_a);
}
