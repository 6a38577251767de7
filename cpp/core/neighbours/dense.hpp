// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/solver/pass.hpp"

namespace defrag {

/// A read-only, non-owning view of a dense row-major matrix.
struct DenseView {
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    const float* data = nullptr;

    const float* row(std::int64_t r) const { return data + r * n_cols; }
};

/// Layout of dense rows for SIMD across rows: [panel][column][kPanelRows], with the last panel
/// padded by zero rows.
constexpr std::int64_t kPanelRows = 16;
/// Number of queries compared with a panel at a time.
constexpr std::int64_t kQueriesAtOnce = 8;

// The vector code of the dense kernels, compiled once per instruction set. All versions give
// bit-identical results: lanes are separate sums, or the sixteen partial sums of one dot product,
// which are added in a fixed order.

/// out[j] = sum over e of values[e] * rows[indices[e] * stride + j] for j < n_cols, added in the
/// order of the entries.
using AddLines = void (*)(const std::int32_t* indices, const float* values, std::int64_t n_entries,
                          const float* rows, std::int64_t stride, std::int64_t n_cols, float* out);
AddLines select_add_lines(Instructions instructions);

/// The dot product of two rows.
using DotRows = float (*)(const float* left, const float* right, std::int64_t n_cols);
DotRows select_dot_rows(Instructions instructions);

/// scores[q][lane] = start[lane] + <query q, row `lane` of the panel>, added in the order of
/// columns, for n_queries <= kQueriesAtOnce queries stored contiguously.
using ScorePanel = void (*)(const float* queries, std::int64_t n_queries, std::int64_t n_cols,
                            const float* panel, const float* start, float* scores);
ScorePanel select_score_panel(Instructions instructions);

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
