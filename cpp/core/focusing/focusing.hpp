// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/solver/solver.hpp"

namespace defrag {

/// Trains up to kLanes classifiers of unit rows, and returns the norm of the weights of every
/// feature. Classifier g separates the rows that have a label l with groups[l] = g from the others.
/// Takes points[0..n_points) of X and Y, or all if `points` is null. The classifiers form one
/// block, so that a pass is serial; the rest is done by all threads. Memory: 8 bytes per non-zero
/// of these points, in `storage` if there are many, and 64 per point and per feature that occurs.
Vector<float> feature_importance(const Context& context, const CsrView& X, const CsrView& Y,
                                 const std::int32_t* groups, const std::int64_t* points,
                                 std::int64_t n_points, const SolverOptions& options,
                                 Storage* storage = nullptr);

/// Keeps, of every row with c entries, the ceil(budget sqrt(c)) entries with the largest
/// |x_j| importance[j], ties going to the smaller feature, and multiplies each by factor[j]; a
/// budget of 0 keeps all entries. Columns stay sorted, and the result of a row does not depend on
/// the other rows. `importance` and `factor` have matrix.n_cols items.
/// O(non-zeros) time, since the entries are found by selection rather than by sorting; scratch of
/// one row per thread. Throws std::invalid_argument if a product is not finite.
Csr focus_rows(const Context& context, const CsrView& matrix, const float* importance,
               const float* factor, double budget);

}  // namespace defrag
