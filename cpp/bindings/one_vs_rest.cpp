// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/csr_caster.hpp"
#include "bindings/options.hpp"
#include "bindings/run.hpp"
#include "core/one_vs_rest/ppd_sparse.hpp"
#include "core/one_vs_rest/proxml.hpp"
#include "core/solver/solver.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

auto to_python(FlatSolution&& solution) {
    const Vector<LaneReport>& reports = solution.reports;
    return std::tuple(std::move(solution.weights), to_numpy(std::move(solution.bias)),
                      column(reports, &LaneReport::passes), column(reports, &LaneReport::converged),
                      column(reports, &LaneReport::violation), column(reports, &LaneReport::primal),
                      column(reports, &LaneReport::dual));
}

void bind_choices(nb::module_& m) {
    nb::enum_<Loss>(m, "Loss")
        .value("squared_hinge", Loss::kSquaredHinge)
        .value("logistic", Loss::kLogistic);
    nb::enum_<Instructions>(m, "Instructions")
        .value("best", Instructions::kBest)
        .value("baseline", Instructions::kBaseline)
        .value("avx2", Instructions::kAvx2)
        .value("avx512", Instructions::kAvx512);
    m.def("can_run", &can_run, "instructions"_a);
}

void bind_solver(nb::module_& m) {
    using Options = SolverOptions;
    bind_choices(m);
    bind_options<Options>(
        m, "SolverOptions", option("loss", &Options::loss), option("cost", &Options::cost),
        option("bias", &Options::bias), option("offset", &Options::offset),
        option("max_passes", &Options::max_passes), option("tolerance", &Options::tolerance),
        option("shrink", &Options::shrink), option("restore", &Options::restore),
        option("settle", &Options::settle), option("run_entries", &Options::run_entries),
        option("skip", &Options::skip), option("threshold", &Options::threshold),
        option("measure", &Options::measure), option("seed", &Options::seed),
        option("instructions", &Options::instructions));
    m.def(
        "solve_blocks",
        [](const CsrView& X, const CsrView& positives, const Options& options,
           std::int64_t first_block, const std::optional<Array<float>>& weights, unsigned n_threads,
           const nb::object& progress) {
            require(positives.n_cols == X.n_rows, "positives must have one column per row of X");
            check_size(weights, X.n_rows, "weights must have one item per row of X");
            return to_python(run(n_threads, progress, solve_blocks, X, positives, options,
                                 first_block, pointer(weights)));
        },
        "X"_a, "positives"_a, "options"_a, nb::kw_only(), "first_block"_a = 0,
        "weights"_a = nb::none(), "n_threads"_a, "progress"_a = nb::none());
}

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
            return run(n_threads, progress, train_ppd_sparse, X, positives, first, options);
        },
        "X"_a, "positives"_a, "options"_a, nb::kw_only(), "first"_a = 0, "n_threads"_a = 1,
        "progress"_a = nb::none());
}

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
            ProxmlSolution solution = run(n_threads, progress, train_proxml, X, positives, options);
            const Vector<ProxmlReport>& reports = solution.reports;
            return std::tuple(std::move(solution.weights), column(reports, &ProxmlReport::rounds),
                              column(reports, &ProxmlReport::converged),
                              column(reports, &ProxmlReport::objective));
        },
        "X"_a, "positives"_a, "options"_a, nb::kw_only(), "n_threads"_a = 1,
        "progress"_a = nb::none());
}

}  // namespace

void bind_one_vs_rest(nb::module_& m) {
    bind_solver(m);
    bind_ppd_sparse(m);
    bind_proxml(m);
}
