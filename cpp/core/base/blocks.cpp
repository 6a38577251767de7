// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/blocks.hpp"

#include <cmath>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/base/ranking.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 1024;

}  // namespace

void keep_largest(Vector<RowEntry>& row, std::int64_t n) {
    if (row.size() <= n) return;
    top_n(row, n, [](const RowEntry& a, const RowEntry& b) {
        const float left = std::fabs(a.value);
        const float right = std::fabs(b.value);
        return left != right ? left > right : a.column < b.column;
    });
    std::sort(row.begin(), row.end(),
              [](const RowEntry& a, const RowEntry& b) { return a.column < b.column; });
}

Csr join_columns(const Context& context, const Vector<CsrView>& matrices) {
    Csr result;
    if (matrices.empty()) return result;
    const std::int64_t n_rows = matrices[0].n_rows;
    Vector<std::int64_t> first_column;
    for (const CsrView& matrix : matrices) {
        if (matrix.n_rows != n_rows) {
            throw std::invalid_argument("matrices that are joined must have the same rows");
        }
        first_column.push_back(result.n_cols);
        result.n_cols += matrix.n_cols;
    }
    if (result.n_cols > std::numeric_limits<std::int32_t>::max()) {
        throw std::invalid_argument("joined matrices must have fewer than 2**31 columns");
    }
    result.indptr.resize(n_rows + 1);
    for (const CsrView& matrix : matrices) {
        for (std::int64_t row = 0; row < n_rows; ++row) {
            result.indptr[row + 1] += matrix.end(row) - matrix.begin(row);
        }
    }
    for (std::int64_t row = 0; row < n_rows; ++row) result.indptr[row + 1] += result.indptr[row];
    result.indices.resize_for_overwrite(result.indptr.back());
    result.data.resize_for_overwrite(result.indptr.back());
    context.expect(n_rows);
    parallel_for(context, n_rows, kRowsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned) {
                     for (std::int64_t row = begin; row < end; ++row) {
                         std::int64_t to = result.indptr[row];
                         for (std::int64_t m = 0; m < matrices.size(); ++m) {
                             const CsrView& matrix = matrices[m];
                             const auto shift = static_cast<std::int32_t>(first_column[m]);
                             for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
                                 result.indices[to] = matrix.indices[p] + shift;
                                 result.data[to++] = matrix.data[p];
                             }
                         }
                     }
                     context.advance(end - begin);
                 });
    return result;
}

}  // namespace defrag
