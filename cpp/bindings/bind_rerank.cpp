// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/rerank.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// Returns a view of a candidate table after checking that all labels are below `n_labels`.
CandidateTable candidate_table(const Matrix<std::int32_t>& labels, std::int64_t n_labels,
                               const char* rule) {
    require(std::all_of(labels.data(), labels.data() + labels.size(),
                        [&](std::int32_t label) { return label < n_labels; }),
            rule);
    return {static_cast<std::int64_t>(labels.shape(0)), static_cast<std::int64_t>(labels.shape(1)),
            labels.data()};
}

}  // namespace

void bind_rerank(nb::module_& m) {
    m.def(
        "candidate_products",
        [](const CsrView& X, const Matrix<std::int32_t>& labels, const ModelCsr& prototypes,
           unsigned n_threads) {
            const CandidateTable table = candidate_table(labels, prototypes.view.n_rows,
                                                         "a candidate must have a prototype");
            require(table.n_rows == X.n_rows, "labels must have one row per row of X");
            require(prototypes.view.n_cols <= X.n_cols,
                    "prototypes must not have more features than X");
            return to_numpy(run(n_threads, nb::none(),
                                [&](const Context& context) {
                                    return candidate_products(context, X, table, prototypes.view);
                                }),
                            table.n_rows, table.n_columns);
        },
        "X"_a, "labels"_a, "prototypes"_a, nb::kw_only(), "n_threads"_a);
    m.def(
        "rank_candidates",
        [](const Matrix<std::int32_t>& labels, const Matrix<float>& log_scores,
           const Matrix<float>& cosines, const Array<float>& bonus, const Array<float>& strengths,
           const Array<float>& weights, std::int64_t k, unsigned n_threads) {
            const CandidateTable table =
                candidate_table(labels, n_items(bonus), "a candidate must have a bonus");
            const auto beside = [&](const Matrix<float>& values) {
                return values.shape(0) == labels.shape(0) && values.shape(1) == labels.shape(1);
            };
            require(beside(log_scores) && beside(cosines),
                    "labels, log_scores and cosines must have the same shape");
            require(strengths.size() == weights.size() && k >= 0,
                    "strengths and weights must have the same length, and k be >= 0");
            const Weighings weighings{n_items(strengths), strengths.data(), weights.data()};
            return to_numpy(run(n_threads, nb::none(),
                                [&](const Context& context) {
                                    return rank_candidates(context, table, log_scores.data(),
                                                           cosines.data(), bonus.data(), weighings,
                                                           k);
                                }),
                            table.n_rows, weighings.n, k);
        },
        "labels"_a, "log_scores"_a, "cosines"_a, "bonus"_a, nb::kw_only(), "strengths"_a,
        "weights"_a, "k"_a, "n_threads"_a);
}
