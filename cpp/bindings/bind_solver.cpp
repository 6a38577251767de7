// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include "bindings/arrays.hpp"
#include "bindings/solver_options.hpp"
#include "core/solver.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// One member of all reports as an array.
template <class T, class Member>
nb::object column(const Vector<LaneReport>& reports, Member member) {
    Vector<T> values;
    values.reserve(reports.size());
    for (const LaneReport& report : reports) values.push_back(static_cast<T>(report.*member));
    return to_numpy(std::move(values));
}

nb::tuple to_python(FlatSolution&& solution) {
    const Vector<LaneReport>& reports = solution.reports;
    return nb::make_tuple(to_numpy(std::move(solution.weights)), to_numpy(std::move(solution.bias)),
                          column<std::int64_t>(reports, &LaneReport::passes),
                          column<std::uint8_t>(reports, &LaneReport::converged),
                          column<double>(reports, &LaneReport::violation),
                          column<double>(reports, &LaneReport::primal),
                          column<double>(reports, &LaneReport::dual));
}

void bind_options(nb::module_& m) {
    nb::class_<SolverOptions>(m, "SolverOptions")
        .def(nb::init<>())
        .def_prop_rw(
            "loss",
            [](const SolverOptions& self) {
                return self.loss == Loss::kLogistic ? "logistic" : "squared_hinge";
            },
            [](SolverOptions& self, const std::string& name) { self.loss = parse_loss(name); })
        .def_prop_rw(
            "instructions",
            [](const SolverOptions& self) { return static_cast<int>(self.instructions); },
            [](SolverOptions& self, const std::string& name) {
                self.instructions = parse_instructions(name);
            },
            nb::for_getter(nb::sig("def instructions(self, /) -> int")),
            nb::for_setter(nb::sig("def instructions(self, value: str, /) -> None")))
        .def_rw("cost", &SolverOptions::cost)
        .def_rw("bias", &SolverOptions::bias)
        .def_rw("offset", &SolverOptions::offset)
        .def_rw("max_passes", &SolverOptions::max_passes)
        .def_rw("tolerance", &SolverOptions::tolerance)
        .def_rw("shrink", &SolverOptions::shrink)
        .def_rw("restore", &SolverOptions::restore)
        .def_rw("skip", &SolverOptions::skip)
        .def_rw("threshold", &SolverOptions::threshold)
        .def_rw("measure", &SolverOptions::measure)
        .def_rw("seed", &SolverOptions::seed);
}

}  // namespace

void bind_solver(nb::module_& m) {
    bind_options(m);
    m.def(
        "can_run", [](const std::string& name) { return can_run(parse_instructions(name)); },
        "instructions"_a);
    m.def(
        "solve_blocks",
        [](const CsrArrays& X, const CsrArrays& positives, std::int64_t n_features,
           const SolverOptions& options, std::int64_t first_block, unsigned n_threads,
           const nb::object& progress) {
            const CsrView rows = csr_view(X, n_features);
            const CsrView points_of_label = csr_view(positives, rows.n_rows);
            return to_python(run(n_threads, progress, [&](const Context& context) {
                return solve_blocks(context, rows, points_of_label, options, first_block);
            }));
        },
        "X"_a.noconvert(), "positives"_a.noconvert(), nb::kw_only(), "n_features"_a, "options"_a,
        "first_block"_a, "n_threads"_a, "progress"_a.none());
}
