// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/solver_pass.hpp"

namespace defrag {

/// A read-only dense matrix, row after row, over memory that somebody else owns.
struct DenseView {
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    const float* data = nullptr;

    const float* row(std::int64_t r) const { return data + r * n_cols; }
};

/// Dense rows laid out for SIMD across rows: [panel][column][kPanelRows], the rows of the last
/// panel that do not exist being zeros.
constexpr std::int64_t kPanelRows = 16;
/// Queries that are compared with a panel at a time.
constexpr std::int64_t kQueriesAtOnce = 8;

// The vector code of the dense kernels, compiled once per instruction set. Every version gives
// the same bits: lanes are separate sums, or the sixteen partial sums of one dot product, which
// are added up in one fixed order.

/// out[j] = sum over e of values[e] * rows[indices[e] * stride + j] for j < n_cols, in the order
/// of the entries.
using AddLines = void (*)(const std::int32_t* indices, const float* values, std::int64_t n_entries,
                          const float* rows, std::int64_t stride, std::int64_t n_cols, float* out);
AddLines select_add_lines(Instructions instructions);

/// The dot product of two rows.
using DotRows = float (*)(const float* left, const float* right, std::int64_t n_cols);
DotRows select_dot_rows(Instructions instructions);

/// scores[q][lane] = start[lane] + <query q, row `lane` of the panel>, columns in order, for
/// n_queries <= kQueriesAtOnce queries that follow each other in memory.
using ScorePanel = void (*)(const float* queries, std::int64_t n_queries, std::int64_t n_cols,
                            const float* panel, const float* start, float* scores);
ScorePanel select_score_panel(Instructions instructions);

}  // namespace defrag
