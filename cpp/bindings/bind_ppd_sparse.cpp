// SPDX-License-Identifier: BSD-3-Clause
#include "core/one_vs_rest/ppd_sparse.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/options.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_ppd_sparse(nb::module_& m) {
    using Options = PpdSparseOptions;
    bind_options<Options>(
        m, "PpdSparseOptions", option("cost", &Options::cost), option("l1", &Options::l1),
        option("bias", &Options::bias), option("max_rounds", &Options::max_rounds),
        option("passes", &Options::passes), option("slack", &Options::slack),
        option("final_passes", &Options::final_passes), option("skip", &Options::skip),
        option("threshold", &Options::threshold), option("seed", &Options::seed),
        option("instructions", &Options::instructions));
    m.def(
        "train_ppd_sparse",
        [](const CsrView& X, const CsrView& positives, const Options& options, std::int64_t first,
           unsigned n_threads, const nb::object& progress) {
            require(positives.n_cols == X.n_rows, "positives must have one column per row of X");
            return run(n_threads, progress, [&](const Context& context) {
                return train_ppd_sparse(context, X, positives, first, options);
            });
        },
        "X"_a, "positives"_a, "options"_a, nb::kw_only(), "first"_a = 0, "n_threads"_a = 1,
        "progress"_a = nb::none());
}
