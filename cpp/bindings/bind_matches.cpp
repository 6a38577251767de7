// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/matches.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_matches(nb::module_& m) {
    m.def(
        "best_matches",
        [](const CsrArrays& left, const CsrArrays& right, std::int64_t n_cols, std::int64_t n_best,
           const std::optional<Array<std::int32_t>>& own, std::int64_t dense_share,
           std::int64_t dense_bytes, unsigned n_threads, const nb::object& progress) {
            const CsrView right_view = csr_view(right, n_cols);
            const CsrView left_view = csr_view(left, right_view.n_rows);
            check_size(own, left_view.n_rows, "own must have one entry per row");
            if (own) check_below(*own, n_cols, "own must name a column");
            require(!own || left_view.n_rows == 0 ||
                        *std::min_element(own->data(), own->data() + own->size()) >= 0,
                    "own must name a column");
            require(n_best >= 1 && dense_share >= 0 && dense_bytes >= 0,
                    "n_best must be >= 1, dense_share and dense_bytes >= 0");
            Matches found = run(n_threads, progress, [&](const Context& context) {
                return best_matches(context, left_view, right_view, n_best, pointer(own),
                                    dense_share, dense_bytes);
            });
            return nb::make_tuple(
                to_numpy(std::move(found.indptr)), to_numpy(std::move(found.columns)),
                to_numpy(std::move(found.scores)), to_numpy(std::move(found.own)));
        },
        "left"_a.noconvert(), "right"_a.noconvert(), nb::kw_only(), "n_cols"_a, "n_best"_a,
        "own"_a.noconvert().none(), "dense_share"_a, "dense_bytes"_a, "n_threads"_a,
        "progress"_a.none());
}
