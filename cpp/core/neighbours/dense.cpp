// SPDX-License-Identifier: BSD-3-Clause
#define DEFRAG_KERNEL_FILE "core/neighbours/dense_kernel.hpp"
#include "core/neighbours/dense.hpp"

#include <algorithm>

#include "core/base/kernel_versions.hpp"
#include "core/neighbours/dense.hpp"

namespace defrag {
namespace {

constexpr Versions<AddLines> kAddLines = DEFRAG_VERSIONS(add_lines);
constexpr Versions<DotRows> kDotRows = DEFRAG_VERSIONS(dot_rows);
constexpr Versions<ScorePanel> kScorePanel = DEFRAG_VERSIONS(score_panel);

}  // namespace

AddLines select_add_lines(Instructions instructions) { return select(kAddLines, instructions); }
DotRows select_dot_rows(Instructions instructions) { return select(kDotRows, instructions); }
ScorePanel select_score_panel(Instructions instructions) {
    return select(kScorePanel, instructions);
}

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
        for_each(context, A.n_rows, kRowGrain, [&](std::int64_t row, unsigned) {
            const std::int64_t first = A.begin(row);
            add_lines(A.indices + first, A.data + first, A.end(row) - first, B.data + begin, k,
                      width, out + row * k + begin);
        });
    }
}

void pair_products(const Context& context, const CsrView& pattern, const DenseView& left,
                   const DenseView& right, float* out, Instructions instructions) {
    const DotRows dot_rows = select_dot_rows(instructions);
    context.expect(pattern.n_rows);
    for_each(context, pattern.n_rows, kRowGrain, [&](std::int64_t row, unsigned) {
        for (auto e = pattern.begin(row); e < pattern.end(row); ++e) {
            out[e] = dot_rows(left.row(row), right.row(pattern.indices[e]), left.n_cols);
        }
    });
}

}  // namespace defrag
