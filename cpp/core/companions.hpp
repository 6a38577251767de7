// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

struct CompanionOptions {
    std::int64_t n_best = 0;    // companions of a feature, besides itself
    std::int64_t max_rows = 0;  // rows of a feature that are looked at
    double ridge = 0.0;         // added to the squares that a slope is divided by
    double common = 0.0;        // a feature of so many rows tells half as much of others
    std::uint64_t seed = 0;
};

/// The strongest companions of every feature j: with S = X^T X over rows of length 1, the
/// features with the largest |S_jk| weight_k (ties to the smaller k), and j itself. The entry of
/// k is the slope S_jk / (S_jj + ridge), for k != j divided by 1 + rows of j / common: what is
/// in every row tells nothing about the others.
///
/// `columns` is X^T, the rows of each feature; `weights` has one number per feature. A feature
/// of more than `max_rows` rows is represented by so many of them, evenly spaced from an offset
/// that is drawn by (seed, feature). O(sum over features of at most max_rows rows' non-zeros)
/// time; in memory n_best + 1 entries of 8 bytes per feature, and 12 bytes per feature and thread.
Csr companions(const Context& context, const CsrView& columns, const CsrView& rows,
               const float* weights, const CompanionOptions& options);

}  // namespace defrag
