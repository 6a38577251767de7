// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// The best columns of every row, best first: those of row r are [indptr[r], indptr[r + 1]).
struct Matches {
    Vector<std::int64_t> indptr;
    Vector<std::int32_t> columns;
    Vector<float> scores;
    Vector<float> own;  // the score of each row's own column, where such were named
};

/// Defaults of the dense lines of best_matches.
constexpr std::int64_t kDenseShare = 8;
constexpr std::int64_t kDenseBytes = std::int64_t{1} << 29;

/// For every row of `left` the at most `n_best` columns of left * right with the highest
/// scores above zero, ties to the smaller column. The product itself is never stored.
/// `right` is the inverted index from coordinates to columns: only columns that share a
/// coordinate with a row cost anything. Coordinates that more than one column in
/// `dense_share` has are also kept as dense lines, which add up side by side several times
/// faster; they take `dense_bytes` at the most, the longest first. Neither can be seen in a
/// result. `own` names a column of each row whose score is wanted too, or is null.
/// O(sum over the non-zeros of `left` of the columns of their coordinate).
Matches best_matches(const Context& context, const CsrView& left, const CsrView& right,
                     std::int64_t n_best, const std::int32_t* own, std::int64_t dense_share,
                     std::int64_t dense_bytes);

}  // namespace defrag
