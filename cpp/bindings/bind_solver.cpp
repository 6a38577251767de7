// SPDX-License-Identifier: BSD-3-Clause
#include "core/solver/solver.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/options.hpp"
#include "bindings/results.hpp"
#include "bindings/run.hpp"

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

}  // namespace

void bind_solver(nb::module_& m) {
    using Options = SolverOptions;
    bind_choices(m);
    bind_options<Options>(
        m, "SolverOptions", option("loss", &Options::loss), option("cost", &Options::cost),
        option("bias", &Options::bias), option("offset", &Options::offset),
        option("max_passes", &Options::max_passes), option("tolerance", &Options::tolerance),
        option("shrink", &Options::shrink), option("restore", &Options::restore),
        option("settle", &Options::settle), option("skip", &Options::skip),
        option("threshold", &Options::threshold), option("measure", &Options::measure),
        option("seed", &Options::seed), option("instructions", &Options::instructions));
    m.def(
        "solve_blocks",
        [](const CsrView& X, const CsrView& positives, const Options& options,
           std::int64_t first_block, unsigned n_threads, const nb::object& progress) {
            require(positives.n_cols == X.n_rows, "positives must have one column per row of X");
            return to_python(run(n_threads, progress, [&](const Context& context) {
                return solve_blocks(context, X, positives, options, first_block);
            }));
        },
        "X"_a, "positives"_a, "options"_a, nb::kw_only(), "first_block"_a, "n_threads"_a,
        "progress"_a = nb::none());
}
