// SPDX-License-Identifier: BSD-3-Clause
#include "core/neighbours/sparse_dense.hpp"

#include <algorithm>

namespace defrag {
namespace {

constexpr std::int64_t kRowGrain = 64;
// Number of columns of B per block: a multiple of the width of the vector loop, and small enough
// for the second-level cache if B has a few thousand rows.
constexpr std::int64_t kColumns = 64;

}  // namespace

void sparse_dense(const Context& context, const CsrView& A, const DenseView& B, float* out,
                  Instructions instructions) {
    const AddLines add_lines = select_add_lines(instructions);
    const std::int64_t k = B.n_cols;
    context.expect(A.n_rows * ((k + kColumns - 1) / kColumns));
    for (std::int64_t begin = 0; begin < k; begin += kColumns) {
        const std::int64_t width = std::min(kColumns, k - begin);
        parallel_for(
            context, A.n_rows, kRowGrain, [&](std::int64_t first, std::int64_t last, unsigned) {
                for (std::int64_t row = first; row < last; ++row) {
                    const std::int64_t at_entry = A.begin(row);
                    add_lines(A.indices + at_entry, A.data + at_entry, A.end(row) - at_entry,
                              B.data + begin, k, width, out + row * k + begin);
                }
                context.advance(last - first);
            });
    }
}

void pair_products(const Context& context, const CsrView& pattern, const DenseView& left,
                   const DenseView& right, float* out, Instructions instructions) {
    const DotRows dot_rows = select_dot_rows(instructions);
    context.expect(pattern.n_rows);
    parallel_for(
        context, pattern.n_rows, kRowGrain, [&](std::int64_t first, std::int64_t last, unsigned) {
            for (std::int64_t row = first; row < last; ++row) {
                for (auto e = pattern.begin(row); e < pattern.end(row); ++e) {
                    out[e] = dot_rows(left.row(row), right.row(pattern.indices[e]), left.n_cols);
                }
            }
            context.advance(last - first);
        });
}

}  // namespace defrag
