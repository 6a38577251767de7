// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/inverted_index.hpp"

#include <algorithm>
#include <cmath>

namespace defrag {
namespace {

constexpr std::int64_t kFeatureGrain = 64;

bool comes_first(const Posting& a, const Posting& b) {
    const float left = std::abs(a.value);
    const float right = std::abs(b.value);
    return left != right ? left > right : a.row < b.row;
}

}  // namespace

InvertedIndex::InvertedIndex(const Context& context, const CsrView& X)
    : pointers_(X.n_cols + 1, 0), postings_(X.nnz()) {
    for (std::int64_t p = X.begin(0); p < X.end(X.n_rows - 1); ++p) ++pointers_[X.indices[p] + 1];
    for (std::int64_t f = 0; f < X.n_cols; ++f) pointers_[f + 1] += pointers_[f];
    Vector<std::int64_t> next(pointers_.begin(), pointers_.end() - 1);
    for (std::int64_t row = 0; row < X.n_rows; ++row) {
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) {
            postings_[next[X.indices[p]]++] = {static_cast<std::int32_t>(row), X.data[p]};
        }
    }
    for_each(context, X.n_cols, kFeatureGrain, [&](std::int64_t f, unsigned) {
        std::sort(postings_.begin() + pointers_[f], postings_.begin() + pointers_[f + 1],
                  comes_first);
    });
}

}  // namespace defrag
