// SPDX-License-Identifier: BSD-3-Clause
#include "core/imputation/companions.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_companions(nb::module_& m) {
    m.def(
        "companions",
        [](const CsrView& columns, const CsrView& X, const Array<float>& weights,
           std::int64_t n_best, std::int64_t max_rows, double ridge, double common,
           std::uint64_t seed, unsigned n_threads) {
            require(n_items(weights) == X.n_cols && columns.n_rows == X.n_cols &&
                        columns.n_cols == X.n_rows,
                    "columns must be the transpose of X, and weights have one entry per feature");
            require(n_best >= 1 && max_rows >= 1, "n_best and max_rows must be >= 1");
            return run(n_threads, nb::none(), [&](const Context& context) {
                return companions(context, columns, X, weights.data(),
                                  {n_best, max_rows, ridge, common, seed});
            });
        },
        "columns"_a, "X"_a, "weights"_a.noconvert(), nb::kw_only(), "n_best"_a, "max_rows"_a,
        "ridge"_a, "common"_a, "seed"_a, "n_threads"_a);
}
