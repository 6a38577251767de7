// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/csr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace defrag {

CsrState inspect(const CsrView& matrix, std::int64_t n_stored) {
    if (matrix.indptr[0] != 0 || matrix.indptr[matrix.n_rows] != n_stored) {
        return CsrState::kBadPointers;
    }
    for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
        if (matrix.begin(row) > matrix.end(row) || matrix.end(row) > n_stored) {
            return CsrState::kBadPointers;
        }
    }
    bool sorted = true;
    for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
        std::int64_t previous = -1;
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            const std::int64_t column = matrix.indices[p];
            if (column < 0 || column >= matrix.n_cols) return CsrState::kBadIndices;
            sorted = sorted && column > previous;
            previous = column;
        }
    }
    return sorted ? CsrState::kCanonical : CsrState::kUnsorted;
}

bool is_clean(const CsrView& matrix, std::int64_t n_stored) {
    if (inspect(matrix, n_stored) != CsrState::kCanonical) return false;
    bool clean = true;
    for (std::int64_t p = 0; p < n_stored; ++p) {
        const float size = std::fabs(matrix.data[p]);
        clean &= size > 0.0F && size <= std::numeric_limits<float>::max();
    }
    return clean;
}

void check_csr(const CsrView& matrix, std::int64_t n_stored) {
    bool rises = matrix.n_rows >= 0 && matrix.indptr[0] == 0;
    for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
        rises = rises && matrix.begin(row) <= matrix.end(row);
    }
    if (!rises || matrix.indptr[matrix.n_rows] > n_stored) {
        throw std::invalid_argument(
            "the row pointers of a matrix must start at 0, not decrease and end at no more than " +
            std::to_string(n_stored));
    }
    // The sign bit of `outside` is set if a column or (last - column) is negative.
    const auto last = static_cast<std::int32_t>(
        std::min<std::int64_t>(matrix.n_cols, std::numeric_limits<std::int32_t>::max()) - 1);
    std::int32_t outside = 0;
    const std::int64_t n_entries = matrix.indptr[matrix.n_rows];
    for (std::int64_t p = 0; p < n_entries; ++p) {
        outside |= matrix.indices[p] | (last - std::max(matrix.indices[p], 0));
    }
    if (outside < 0) {
        throw std::invalid_argument("a column index of a matrix is outside [0, " +
                                    std::to_string(matrix.n_cols) + ")");
    }
}

}  // namespace defrag
