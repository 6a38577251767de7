// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// A table of n_rows x n_columns labels, with -1 where a row has fewer.
struct CandidateTable {
    std::int64_t n_rows = 0;
    std::int64_t n_columns = 0;
    const std::int32_t* labels = nullptr;
};

/// Computes the dot product of each row with the prototypes (one row per label) of its candidates,
/// 0 where there is no candidate. Features are looked up in the prototype or the prototype is
/// scanned, whichever is cheaper; both add the same products in the same order. O(candidates *
/// features of a row), up to a logarithm. Memory: the result, and four bytes per feature and
/// thread.
Vector<float> candidate_products(const Context& context, const CsrView& rows,
                                 const CandidateTable& candidates, const CsrView& prototypes);

/// Combinations of coefficients for the score of a candidate: log score + strength * cosine +
/// weight * bonus.
struct Weighings {
    std::int64_t n = 0;
    const float* strengths = nullptr;
    const float* weights = nullptr;
};

/// Returns the columns of the `k` best candidates of each row under each weighing:
/// [row][weighing][place], with -1 where there are fewer; ties go to the smaller label. `bonus` has
/// one item per label; `log_scores` and `cosines` have the shape of the candidate table.
Vector<std::int32_t> rank_candidates(const Context& context, const CandidateTable& candidates,
                                     const float* log_scores, const float* cosines,
                                     const float* bonus, const Weighings& weighings,
                                     std::int64_t k);

}  // namespace defrag
