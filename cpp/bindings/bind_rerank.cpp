// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/rerank.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_rerank(nb::module_& m) {
    m.def(
        "candidate_products",
        [](const CsrArrays& rows, const Array<std::int32_t>& labels, const CsrArrays& prototypes,
           std::int64_t n_features, std::int64_t n_columns, unsigned n_threads) {
            const CsrView view = csr_view(rows, n_features);
            require(n_columns >= 0 && static_cast<std::int64_t>(labels.size()) ==
                                          checked_product(view.n_rows, n_columns),
                    "labels must have n_columns entries per row");
            const CsrView prototype_view = model_view(prototypes, n_features);
            check_below(labels, prototype_view.n_rows, "a candidate must have a prototype");
            const CandidateTable table{view.n_rows, n_columns, labels.data()};
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return candidate_products(context, view, table, prototype_view);
            }));
        },
        "rows"_a.noconvert(), "labels"_a.noconvert(), "prototypes"_a.noconvert(), nb::kw_only(),
        "n_features"_a, "n_columns"_a, "n_threads"_a);
    m.def(
        "rank_candidates",
        [](const Array<std::int32_t>& labels, const Array<float>& log_scores,
           const Array<float>& cosines, const Array<float>& bonus, const Array<float>& strengths,
           const Array<float>& weights, std::int64_t n_columns, std::int64_t k,
           unsigned n_threads) {
            require(n_columns >= 1 && k >= 0 &&
                        static_cast<std::int64_t>(labels.size()) % n_columns == 0 &&
                        log_scores.size() == labels.size() && cosines.size() == labels.size(),
                    "labels, log_scores and cosines must have n_columns entries per row");
            require(strengths.size() == weights.size(),
                    "strengths and weights must have the same length");
            check_below(labels, static_cast<std::int64_t>(bonus.size()),
                        "a candidate must have a bonus");
            const auto n_rows = static_cast<std::int64_t>(labels.size()) / n_columns;
            const CandidateTable table{n_rows, n_columns, labels.data()};
            const Weighings weighings{static_cast<std::int64_t>(strengths.size()), strengths.data(),
                                      weights.data()};
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return rank_candidates(context, table, log_scores.data(), cosines.data(),
                                       bonus.data(), weighings, k);
            }));
        },
        "labels"_a.noconvert(), "log_scores"_a.noconvert(), "cosines"_a.noconvert(),
        "bonus"_a.noconvert(), "strengths"_a.noconvert(), "weights"_a.noconvert(), nb::kw_only(),
        "n_columns"_a, "k"_a, "n_threads"_a);
}
