// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/proxml.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_proxml(nb::module_& m) {
    nb::class_<ProxmlOptions>(m, "ProxmlOptions")
        .def(nb::init<>())
        .def_rw("cost", &ProxmlOptions::cost)
        .def_rw("l1", &ProxmlOptions::l1)
        .def_rw("max_rounds", &ProxmlOptions::max_rounds)
        .def_rw("max_sweeps", &ProxmlOptions::max_sweeps)
        .def_rw("tolerance", &ProxmlOptions::tolerance);
    m.def(
        "train_proxml",
        [](const CsrArrays& X, const CsrArrays& positives, std::int64_t n_features,
           const ProxmlOptions& options, unsigned n_threads, const nb::object& progress) {
            const CsrView rows = csr_view(X, n_features);
            const CsrView points_of_label = csr_view(positives, rows.n_rows);
            ProxmlSolution solution = run(n_threads, progress, [&](const Context& context) {
                return train_proxml(context, rows, points_of_label, options);
            });
            Vector<std::int64_t> rounds;
            Vector<std::uint8_t> converged;
            Vector<double> objective;
            for (const ProxmlReport& report : solution.reports) {
                rounds.push_back(report.rounds);
                converged.push_back(report.converged ? 1 : 0);
                objective.push_back(report.objective);
            }
            return nb::make_tuple(to_numpy(std::move(solution.weights)),
                                  to_numpy(std::move(rounds)), to_numpy(std::move(converged)),
                                  to_numpy(std::move(objective)));
        },
        "X"_a.noconvert(), "positives"_a.noconvert(), nb::kw_only(), "n_features"_a, "options"_a,
        "n_threads"_a, "progress"_a.none());
}
