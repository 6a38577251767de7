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
nb::object column(const std::vector<LaneReport>& reports, Member member) {
    std::vector<T> values;
    values.reserve(reports.size());
    for (const LaneReport& report : reports) values.push_back(static_cast<T>(report.*member));
    return to_numpy(std::move(values));
}

nb::tuple to_python(FlatSolution&& solution) {
    const std::vector<LaneReport>& reports = solution.reports;
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
        [](Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<float> data,
           Array<std::int64_t> label_indptr, Array<std::int32_t> label_indices,
           Array<float> label_data, std::int64_t n_features, const SolverOptions& options,
           unsigned n_threads, const nb::object& progress) {
            const CsrView X = csr_view(indptr, indices, data, n_features);
            const CsrView positives = csr_view(label_indptr, label_indices, label_data, X.n_rows);
            const Context context = make_context(n_threads, progress);
            FlatSolution solution;
            {
                const nb::gil_scoped_release release;
                solution = solve_blocks(context, X, positives, options);
            }
            return to_python(std::move(solution));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
        "label_indptr"_a.noconvert(), "label_indices"_a.noconvert(), "label_data"_a.noconvert(),
        nb::kw_only(), "n_features"_a, "options"_a, "n_threads"_a, "progress"_a.none());
}
