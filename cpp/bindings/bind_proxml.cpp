// SPDX-License-Identifier: BSD-3-Clause
#include "core/one_vs_rest/proxml.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/options.hpp"
#include "bindings/results.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_proxml(nb::module_& m) {
    using Options = ProxmlOptions;
    bind_options<Options>(m, "ProxmlOptions", option("cost", &Options::cost),
                          option("l1", &Options::l1), option("max_rounds", &Options::max_rounds),
                          option("max_sweeps", &Options::max_sweeps),
                          option("tolerance", &Options::tolerance));
    m.def(
        "train_proxml",
        [](const CsrView& X, const CsrView& positives, const Options& options, unsigned n_threads,
           const nb::object& progress) {
            require(positives.n_cols == X.n_rows, "positives must have one column per row of X");
            ProxmlSolution solution = run(n_threads, progress, [&](const Context& context) {
                return train_proxml(context, X, positives, options);
            });
            const Vector<ProxmlReport>& reports = solution.reports;
            return std::tuple(std::move(solution.weights), column(reports, &ProxmlReport::rounds),
                              column(reports, &ProxmlReport::converged),
                              column(reports, &ProxmlReport::objective));
        },
        "X"_a, "positives"_a, "options"_a, nb::kw_only(), "n_threads"_a = 1,
        "progress"_a = nb::none());
}
