// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/arrays.hpp"

namespace defrag {

/// A read-only, non-owning view of a compressed sparse row matrix. Row pointers have 64 bits, so
/// that more than 2^31 non-zeros need no special case.
struct CsrView {
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    const std::int64_t* indptr = nullptr;
    const std::int32_t* indices = nullptr;
    const float* data = nullptr;

    std::int64_t begin(std::int64_t row) const { return indptr[row]; }
    std::int64_t end(std::int64_t row) const { return indptr[row + 1]; }
    std::int64_t nnz() const { return indptr[n_rows] - indptr[0]; }
};

/// Returns the sum of the squares of a row.
inline double squared_length(const CsrView& matrix, std::int64_t row) {
    double sum = 0.0;
    for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
        sum += static_cast<double>(matrix.data[p]) * static_cast<double>(matrix.data[p]);
    }
    return sum;
}

/// A compressed sparse row matrix that owns its memory.
struct Csr {
    std::int64_t n_cols = 0;
    Vector<std::int64_t> indptr{0};
    Vector<std::int32_t> indices;
    Vector<float> data;

    std::int64_t n_rows() const { return indptr.size() - 1; }
    CsrView view() const { return {n_rows(), n_cols, indptr.data(), indices.data(), data.data()}; }
};

/// The result of inspecting a matrix from an untrusted source.
enum class CsrState { kCanonical = 0, kUnsorted = 1, kBadPointers = 2, kBadIndices = 3 };

/// Checks every index once. Flags such as scipy's has_sorted_indices may be wrong, and a kernel
/// that relied on a wrong one would read out of bounds. O(rows + entries).
CsrState inspect(const CsrView& matrix, std::int64_t n_stored);

/// Returns whether a matrix is canonical and its values are finite and non-zero. O(rows + entries).
bool is_clean(const CsrView& matrix, std::int64_t n_stored);

/// Throws std::invalid_argument unless the arrays of a matrix are consistent: row pointers do not
/// decrease, start at 0 and end at no more than `n_stored`, and all column indices are in [0,
/// n_cols). Kernels address memory by these numbers. O(rows + entries), limited by memory
/// bandwidth.
void check_csr(const CsrView& matrix, std::int64_t n_stored);

}  // namespace defrag
