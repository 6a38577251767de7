// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

struct CompanionOptions {
    std::int64_t n_best = 0;    // companions of a feature, not counting itself
    std::int64_t max_rows = 0;  // rows sampled per feature
    double ridge = 0.0;         // added to the squares in the denominator of a slope
    double common = 0.0;        // slopes of a feature with this many rows are halved
    std::uint64_t seed = 0;
};

/// Computes the strongest companions of every feature j: with S = X^T X over unit rows, the
/// features with the largest |S_jk| weight_k (ties go to the smaller k), and j itself. The entry of
/// k is the slope S_jk / (S_jj + ridge), for k != j divided by 1 + rows of j / common, because a
/// feature that occurs in every row carries no information about the others.
///
/// `columns` is X^T, the rows of each feature; `weights` has one number per feature. A feature with
/// more than `max_rows` rows is represented by max_rows of them, evenly spaced from an offset drawn
/// by (seed, feature).
/// O(sum over features of the non-zeros of at most max_rows rows) time; n_best + 1 entries of 8
/// bytes per feature, and 12 bytes per feature and thread.
Csr companions(const Context& context, const CsrView& columns, const CsrView& rows,
               const float* weights, const CompanionOptions& options);

}  // namespace defrag
