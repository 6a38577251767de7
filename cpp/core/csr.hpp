// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/arrays.hpp"

namespace defrag {

/// A read-only compressed sparse row matrix over memory that somebody else owns.
/// Row pointers have 64 bits, so that more than 2^31 non-zeros are no special case.
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

/// A compressed sparse row matrix that owns its memory.
struct Csr {
    std::int64_t n_cols = 0;
    Vector<std::int64_t> indptr{0};
    Vector<std::int32_t> indices;
    Vector<float> data;

    std::int64_t n_rows() const { return indptr.size() - 1; }
    CsrView view() const { return {n_rows(), n_cols, indptr.data(), indices.data(), data.data()}; }
};

/// What is the matter with a matrix that came from outside.
enum class CsrState { kCanonical = 0, kUnsorted = 1, kBadPointers = 2, kBadIndices = 3 };

/// Looks at every index once. Flags such as scipy's has_sorted_indices are claims, and a
/// kernel that believes a wrong one reads memory that is not there.
CsrState inspect(const CsrView& matrix, std::int64_t n_stored);

/// Returns whether a matrix is canonical and its values are finite and not zero. O(rows +
/// entries).
bool is_clean(const CsrView& matrix, std::int64_t n_stored);

/// Throws std::invalid_argument unless the arrays of a matrix fit each other: row pointers rise
/// from 0 to at most `n_stored` entries, and every column that they name is in [0, n_cols).
/// Kernels read memory by these numbers. O(rows + entries), at the speed of memory.
void check_csr(const CsrView& matrix, std::int64_t n_stored);

}  // namespace defrag
