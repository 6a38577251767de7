// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// Statistics of each column, from one pass over the rows.
struct ColumnStatistics {
    Vector<std::int64_t> counts;  // number of rows in which the column is non-zero
    Vector<double> energy;        // sum of squares over the scaled rows
};

/// Rows are divided by their norms, so that the energy of a column is its share of the total.
ColumnStatistics column_statistics(const Context& context, const CsrView& matrix);

enum class Norm { kL1, kL2 };
Vector<float> row_norms(const Context& context, const CsrView& matrix, Norm norm);

/// Returns the columns of `matrix` as rows: entry (i, j) becomes (j, coordinate[i]), times
/// row_scale[i] unless `row_scale` is null. Rows with coordinate -1 and features with wanted[j] =
/// false are dropped; the coordinates must increase with i, so that the rows of the result are
/// sorted. O(nnz).
Csr feature_rows(const Context& context, const CsrView& matrix, const std::int32_t* coordinate,
                 std::int64_t n_coords, const bool* wanted, const float* row_scale);

/// Returns the product of two sparse matrices; used for X^T Y, so the cost is the sum over points
/// of (features x labels). Only the `max_entries` largest entries of each row (by absolute value,
/// then by column) are kept, which bounds the memory of label vectors; 0 keeps all. Memory per
/// thread: five bytes per column of `right`, or per used column if these are few.
Csr multiply(const Context& context, const CsrView& left, const CsrView& right,
             std::int64_t max_entries);

/// How rows are scaled before they are clustered.
enum class RowScale {
    kUnit,   // L2 norm 1
    kIdeal,  // ideal DCG 1: entries in descending order, discounted by 1 / log2(1 + position)
};

/// Scales every row (zero rows are unchanged) and then drops entries of absolute value <=
/// threshold.
Csr scale_rows(const Context& context, const CsrView& matrix, RowScale rule, float threshold);

/// Returns the rows of `first`; empty ones are replaced by those of `second`, whose columns are
/// shifted by `shift`.
Csr fill_empty_rows(const Context& context, const CsrView& first, const CsrView& second,
                    std::int64_t shift);

}  // namespace defrag
