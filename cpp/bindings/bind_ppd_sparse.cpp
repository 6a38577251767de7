// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include "bindings/arrays.hpp"
#include "bindings/solver_options.hpp"
#include "core/ppd_sparse.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_ppd_sparse(nb::module_& m) {
    nb::class_<PpdSparseOptions>(m, "PpdSparseOptions")
        .def(nb::init<>())
        .def_prop_rw(
            "instructions",
            [](const PpdSparseOptions& self) { return static_cast<int>(self.instructions); },
            [](PpdSparseOptions& self, const std::string& name) {
                self.instructions = parse_instructions(name);
            },
            nb::for_getter(nb::sig("def instructions(self, /) -> int")),
            nb::for_setter(nb::sig("def instructions(self, value: str, /) -> None")))
        .def_rw("cost", &PpdSparseOptions::cost)
        .def_rw("l1", &PpdSparseOptions::l1)
        .def_rw("bias", &PpdSparseOptions::bias)
        .def_rw("max_rounds", &PpdSparseOptions::max_rounds)
        .def_rw("passes", &PpdSparseOptions::passes)
        .def_rw("slack", &PpdSparseOptions::slack)
        .def_rw("final_passes", &PpdSparseOptions::final_passes)
        .def_rw("skip", &PpdSparseOptions::skip)
        .def_rw("threshold", &PpdSparseOptions::threshold)
        .def_rw("seed", &PpdSparseOptions::seed);
    m.def(
        "train_ppd_sparse",
        [](const CsrArrays& X, const CsrArrays& positives, std::int64_t n_features,
           std::int64_t first, const PpdSparseOptions& options, unsigned n_threads,
           const nb::object& progress) {
            const CsrView rows = csr_view(X, n_features);
            const CsrView points_of_label = csr_view(positives, rows.n_rows);
            return to_numpy(run(n_threads, progress, [&](const Context& context) {
                return train_ppd_sparse(context, rows, points_of_label, first, options);
            }));
        },
        "X"_a.noconvert(), "positives"_a.noconvert(), nb::kw_only(), "n_features"_a, "first"_a,
        "options"_a, "n_threads"_a, "progress"_a.none());
}
