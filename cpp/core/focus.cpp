// SPDX-License-Identifier: BSD-3-Clause
#include "core/focus.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;

std::int64_t entries_kept(std::int64_t n_entries, double budget) {
    if (budget <= 0.0) return n_entries;
    const double wanted = std::ceil(budget * std::sqrt(static_cast<double>(n_entries)));
    return wanted < static_cast<double>(n_entries) ? static_cast<std::int64_t>(wanted) : n_entries;
}

/// Which entries of a row are kept: those above the threshold, and the first few that equal it.
struct Selection {
    float threshold;
    std::int64_t n_equal;
};

Selection select(Vector<float>& keys, std::int64_t n_kept) {
    const auto last = keys.begin() + (n_kept - 1);
    std::nth_element(keys.begin(), last, keys.end(), std::greater<>());
    const auto above = std::count_if(keys.begin(), last, [&](float key) { return key > *last; });
    return {*last, n_kept - above};
}

}  // namespace

Csr focus_rows(const Context& context, const CsrView& matrix, const float* importance,
               const float* factor, double budget) {
    context.expect(matrix.n_rows);
    Csr result;
    result.n_cols = matrix.n_cols;
    for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
        const std::int64_t size = matrix.end(row) - matrix.begin(row);
        result.indptr.push_back(result.indptr.back() + entries_kept(size, budget));
    }
    result.indices.resize(result.indptr.back());
    result.data.resize(result.indptr.back());
    Vector<Vector<float>> scratches(context.n_threads());
    const auto focus = [&](std::int64_t row, Vector<float>& keys) {
        const std::int64_t begin = matrix.begin(row);
        const std::int64_t end = matrix.end(row);
        std::int64_t to = result.indptr[row];
        const std::int64_t n_kept = result.indptr[row + 1] - to;
        Selection kept{-1.0F, 0};
        const auto key = [&](std::int64_t p) {
            return std::abs(matrix.data[p]) * importance[matrix.indices[p]];
        };
        if (n_kept < end - begin) {
            keys.clear();
            for (std::int64_t p = begin; p < end; ++p) keys.push_back(key(p));
            kept = select(keys, n_kept);
        }
        for (std::int64_t p = begin; p < end; ++p) {
            const float value = key(p);
            if (value < kept.threshold || (value == kept.threshold && kept.n_equal-- <= 0))
                continue;
            if (to == result.indptr[row + 1]) break;  // keys that are not a number equal nothing
            result.indices[to] = matrix.indices[p];
            result.data[to++] = matrix.data[p] * factor[matrix.indices[p]];
        }
    };
    parallel_for(context, matrix.n_rows, kRowsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     for (std::int64_t row = begin; row < end; ++row) {
                         focus(row, scratches[worker]);
                     }
                     context.advance(end - begin);
                 });
    return result;
}

}  // namespace defrag
