// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/dense_rows.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// out = A B, row after row: A is sparse (n x d), B dense (d x k), out dense (n x k). Every sum
/// runs over the non-zeros of a row of A in their order, so neither the threads nor the vector
/// width can be seen in it. The columns of B pass in blocks that stay in the cache.
/// O(nnz(A) * k); no memory of its own.
void sparse_dense(const Context& context, const CsrView& A, const DenseView& B, float* out,
                  Instructions instructions = Instructions::kBest);

/// out[e] = <row r of left, row indices[e] of right> for every entry e of row r of the pattern,
/// whose values are not looked at. A sum of sixteen partial sums, in a fixed order.
/// O(nnz(pattern) * k); no memory of its own.
void pair_products(const Context& context, const CsrView& pattern, const DenseView& left,
                   const DenseView& right, float* out,
                   Instructions instructions = Instructions::kBest);

}  // namespace defrag
