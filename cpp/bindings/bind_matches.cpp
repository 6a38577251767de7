// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/matches.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/results.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_matches(nb::module_& m) {
    nb::class_<Matches>(m, "Matches")
        .def_prop_ro("indptr", array_of(&Matches::indptr))
        .def_prop_ro("columns", array_of(&Matches::columns))
        .def_prop_ro("scores", array_of(&Matches::scores))
        .def_prop_ro("own", array_of(&Matches::own));
    m.def(
        "best_matches",
        [](const CsrView& left, const CsrView& right, std::int64_t n_best,
           const std::optional<Array<std::int32_t>>& own, std::int64_t dense_share,
           std::int64_t dense_bytes, unsigned n_threads, const nb::object& progress) {
            require(left.n_cols == right.n_rows,
                    "left must have as many columns as right has rows");
            check_size(own, left.n_rows, "own must have one entry per row");
            require(
                !own || std::all_of(own->data(), own->data() + own->size(),
                                    [&](std::int32_t id) { return id >= 0 && id < right.n_cols; }),
                "own must name a column");
            require(n_best >= 1 && dense_share >= 0 && dense_bytes >= 0,
                    "n_best must be >= 1, dense_share and dense_bytes >= 0");
            return run(n_threads, progress, [&](const Context& context) {
                return best_matches(context, left, right, n_best, pointer(own), dense_share,
                                    dense_bytes);
            });
        },
        "left"_a, "right"_a, nb::kw_only(), "n_best"_a, "own"_a.noconvert() = nb::none(),
        "dense_share"_a = kDenseShare, "dense_bytes"_a = kDenseBytes, "n_threads"_a,
        "progress"_a = nb::none());
}
