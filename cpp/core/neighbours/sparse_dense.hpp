// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/neighbours/dense_rows.hpp"

namespace defrag {

/// out = A B, row by row: A is sparse (n x d), B dense (d x k), out dense (n x k). Every sum runs
/// over the non-zeros of a row of A in order, so the result depends neither on the number of
/// threads nor on the vector width. B is processed in blocks of columns that stay in the cache.
/// O(nnz(A) * k) time; allocates nothing.
void sparse_dense(const Context& context, const CsrView& A, const DenseView& B, float* out,
                  Instructions instructions = Instructions::kBest);

/// out[e] = <row r of left, row indices[e] of right> for every entry e of row r of the pattern,
/// whose values are ignored. Each is a sum of sixteen partial sums in a fixed order.
/// O(nnz(pattern) * k) time; allocates nothing.
void pair_products(const Context& context, const CsrView& pattern, const DenseView& left,
                   const DenseView& right, float* out,
                   Instructions instructions = Instructions::kBest);

}  // namespace defrag
