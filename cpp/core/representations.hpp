// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// What one pass over the rows tells about each column.
struct ColumnStatistics {
    Vector<std::int64_t> counts;  // rows in which the column is not zero
    Vector<double> energy;        // sum of squares, rows taken at length 1
};

/// `row_lengths` are the lengths by which rows are divided; nullptr: their own, so that the
/// energy of a column is its share of that of all rows.
ColumnStatistics column_statistics(const Context& context, const CsrView& matrix,
                                   const float* row_lengths);

enum class Norm { kL1, kL2 };
Vector<float> row_norms(const Context& context, const CsrView& matrix, Norm norm);

/// Columns of `matrix` as rows: entry (i, j) becomes (j, coordinate[i]), times row_scale[i] if
/// there is one. Rows with coordinate -1 and features with wanted[j] = false are left out; the
/// coordinates must rise with i. O(nnz), one sorted row per feature.
Csr feature_rows(const Context& context, const CsrView& matrix, const std::int32_t* coordinate,
                 std::int64_t n_coords, const bool* wanted, const float* row_scale);

/// The product of two sparse matrices; used for X^T Y, so the cost is the sum over points of
/// (features x labels). Of each row only the `max_entries` largest (by absolute value, then by
/// column) are kept, which bounds the memory of label vectors; 0 keeps all. Memory per thread: five
/// bytes per column of `right`, or per column in use where those are few.
Csr multiply(const Context& context, const CsrView& left, const CsrView& right,
             std::int64_t max_entries);

/// How the length of a row is fixed before it is clustered.
enum class RowScale {
    kUnit,   // Euclidean length 1
    kIdeal,  // ideal DCG 1: entries in descending order, discounted by 1 / log2(1 + position)
};

/// Scales every row (zero rows stay) and then drops entries of absolute value <= threshold.
Csr scale_rows(const Context& context, const CsrView& matrix, RowScale rule, float threshold);

/// The rows of `first`, and where these are empty those of `second`, whose columns are moved
/// by `shift`.
Csr fill_empty_rows(const Context& context, const CsrView& first, const CsrView& second,
                    std::int64_t shift);

}  // namespace defrag
