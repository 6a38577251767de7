// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// A table of n_rows x n_columns labels, -1 where a row has fewer.
struct CandidateTable {
    std::int64_t n_rows = 0;
    std::int64_t n_columns = 0;
    const std::int32_t* labels = nullptr;
};

/// The product of each row with the prototypes (one row per label) of its candidates, 0 where
/// there is no candidate. Looks features up in the prototype or walks along it, whichever is
/// shorter; both add the same products in the same order. O(candidates * features of a row) at
/// most, up to a logarithm; memory: the result, and per thread four bytes per feature.
Vector<float> candidate_products(const Context& context, const CsrView& rows,
                                 const CandidateTable& candidates, const CsrView& prototypes);

/// Ways to weigh what is known about a candidate: log score + strength * cosine + weight * bonus.
struct Weighings {
    std::int64_t n = 0;
    const float* strengths = nullptr;
    const float* weights = nullptr;
};

/// Gives the columns of the `k` best candidates of each row, under each weighing in turn:
/// [row][weighing][place], -1 where there are fewer; of equal scores the smaller label is
/// better. `bonus` is of labels, the other two are tables beside that of the candidates.
Vector<std::int32_t> rank_candidates(const Context& context, const CandidateTable& candidates,
                                     const float* log_scores, const float* cosines,
                                     const float* bonus, const Weighings& weighings,
                                     std::int64_t k);

}  // namespace defrag
