// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// The best columns of every row, best first: those of row r are [indptr[r], indptr[r + 1]).
struct Matches {
    Vector<std::int64_t> indptr;
    Vector<std::int32_t> columns;
    Vector<float> scores;
    Vector<float> own;  // the score of each row's own column, if requested
};

/// Default limits on the dense lines of best_matches.
constexpr std::int64_t kDenseShare = 8;
constexpr std::int64_t kDenseBytes = std::int64_t{1} << 29;

/// Finds, for every row of `left`, at most `n_best` columns of left * right with the highest scores
/// above zero, ties going to the smaller column. The product is never stored. `right` is the
/// inverted index from coordinates to columns, so a row costs time only for columns that share a
/// coordinate with it. Coordinates present in more than 1 / dense_share of the columns are also
/// kept as dense lines, which are added several times faster with SIMD; they take at most
/// `dense_bytes`, the longest first. Neither limit affects the result. `own` names one column of
/// each row whose score is also returned, or is null.
/// O(sum over the non-zeros of `left` of the columns of their coordinate).
Matches best_matches(const Context& context, const CsrView& left, const CsrView& right,
                     std::int64_t n_best, const std::int32_t* own, std::int64_t dense_share,
                     std::int64_t dense_bytes);

}  // namespace defrag
