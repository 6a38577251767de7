// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/instructions.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// The problem solved for every label l:
///   min_w 0.5 |w|^2 + l1 |w|_1 + cost * sum_i max(0, 1 - y_il (w.x_i + offset_l))^2,
/// where x_i ends with the bias feature, which l1 does not penalise, and offset_l = 2 p / m - 1 (p
/// of the m rows are positive).
struct PpdSparseOptions {
    double cost = 1.0;
    double l1 = 0.05;
    float bias = 0.3F;
    /// Rounds of passes over the active rows; between two rounds, further rows are searched.
    std::int64_t max_rounds = 3;
    std::int64_t passes = 2;
    /// The last search activates rows that miss their margin by this; each previous one by twice as
    /// much, so that the worst rows come first.
    float slack = 0.3F;
    /// Passes without l1 over the remaining weights.
    std::int64_t final_passes = 1;
    /// A row does not update the weights unless a dual variable moves by more than this.
    float skip = 1e-2F;
    /// Weights of at most this magnitude are dropped from the result.
    float threshold = 0.01F;
    std::uint64_t seed = 0;
    Instructions instructions = Instructions::kBest;
};

/// Trains PPDSparse (Yen et al., KDD 2017): dual coordinate descent over the positives of a label
/// and the negatives that violate the margin, with weights that are soft-thresholded sums of rows.
/// kLanes labels share their active rows, so that a search is exact and costs one pass. `positives`
/// has one row per label; `first` is the number of the first of them in the random streams, a
/// multiple of kLanes. Returns labels x (features + 1); the last column is the bias.
/// O(non-zeros of X) for each search of a block, which dominates if labels are rare. Memory: a
/// compact copy of X, and per thread 64 bytes per row and 192 per feature.
Csr train_ppd_sparse(const Context& context, const CsrView& X, const CsrView& positives,
                     std::int64_t first, const PpdSparseOptions& options);

}  // namespace defrag
