// SPDX-License-Identifier: BSD-3-Clause
#include "core/csr.hpp"

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

}  // namespace defrag
