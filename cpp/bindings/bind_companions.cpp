// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/companions.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_companions(nb::module_& m) {
    m.def(
        "companions",
        [](const CsrArrays& columns, const CsrArrays& rows, const Array<float>& weights,
           std::int64_t n_best, std::int64_t max_rows, double ridge, double common,
           std::uint64_t seed, unsigned n_threads) {
            const CsrView rows_view = csr_view(rows, static_cast<std::int64_t>(weights.size()));
            const CsrView columns_view = csr_view(columns, rows_view.n_rows);
            require(columns_view.n_rows == rows_view.n_cols && n_best >= 1 && max_rows >= 1,
                    "columns must have one row per feature; n_best and max_rows must be >= 1");
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return companions(context, columns_view, rows_view, weights.data(),
                                  {n_best, max_rows, ridge, common, seed});
            }));
        },
        "columns"_a.noconvert(), "rows"_a.noconvert(), "weights"_a.noconvert(), nb::kw_only(),
        "n_best"_a, "max_rows"_a, "ridge"_a, "common"_a, "seed"_a, "n_threads"_a);
}
