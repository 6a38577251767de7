// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// A run of consecutive rows of a matrix that is being computed.
struct RowBlock {
    Vector<std::int64_t> row_sizes;
    Vector<std::int32_t> indices;
    Vector<float> data;

    void push(std::int32_t index, float value) {
        indices.push_back(index);
        data.push_back(value);
    }
};

/// An entry of a row.
struct RowEntry {
    std::int32_t column;
    float value;
};

/// Keeps the n entries of largest magnitude, ties going to the smaller column, in ascending order
/// of columns.
void keep_largest(Vector<RowEntry>& row, std::int64_t n);

/// Builds a sparse matrix whose row lengths are not known in advance: fill(row, block, worker)
/// appends the entries of one row. Blocks of `grain` rows are filled in parallel and then copied to
/// their final position, so peak memory is twice the result.
template <class Fill>
Csr build_rows(const Context& context, std::int64_t n_rows, std::int64_t n_cols, std::int64_t grain,
               Fill fill) {
    Vector<RowBlock> blocks((n_rows + grain - 1) / grain);
    parallel_for(context, n_rows, grain,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     RowBlock& block = blocks[begin / grain];
                     block.row_sizes.reserve(end - begin);
                     for (std::int64_t row = begin; row < end; ++row) {
                         const auto before = block.indices.size();
                         fill(row, block, worker);
                         block.row_sizes.push_back(block.indices.size() - before);
                     }
                     context.advance(end - begin);
                 });
    Csr result;
    result.n_cols = n_cols;
    result.indptr.reserve(n_rows + 1);
    Vector<std::int64_t> offsets;
    offsets.reserve(blocks.size());
    for (const RowBlock& block : blocks) {
        offsets.push_back(result.indptr.back());
        for (const std::int64_t size : block.row_sizes) {
            result.indptr.push_back(result.indptr.back() + size);
        }
    }
    result.indices.resize_for_overwrite(result.indptr.back());
    result.data.resize_for_overwrite(result.indptr.back());
    parallel_for(context, blocks.size(), 1, [&](std::int64_t b, std::int64_t, unsigned) {
        RowBlock& block = blocks[b];
        std::copy(block.indices.begin(), block.indices.end(), result.indices.begin() + offsets[b]);
        std::copy(block.data.begin(), block.data.end(), result.data.begin() + offsets[b]);
        block = RowBlock();
    });
    return result;
}

/// Returns the columns of several matrices with the same number of rows side by side. Throws
/// std::invalid_argument if the numbers of rows differ, or if there are more columns than an index
/// can hold. O(entries + rows * matrices), divided among all threads.
Csr join_columns(const Context& context, const Vector<CsrView>& matrices);

}  // namespace defrag
