// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/solver/solver.hpp"

namespace defrag {

/// Trains up to kLanes classifiers of unit rows, and returns the norm of the weights of every
/// feature. Classifier g separates the rows that have a label l with groups[l] = g from the others.
/// Takes points[0..n_points) of X and Y, or all if `points` is null. The classifiers form one
/// block, so that a pass is serial; the rest is done by all threads. Memory: 8 bytes per non-zero
/// of these points, and 64 per point and per feature that occurs.
Vector<float> feature_importance(const Context& context, const CsrView& X, const CsrView& Y,
                                 const std::int32_t* groups, const std::int64_t* points,
                                 std::int64_t n_points, const SolverOptions& options);

}  // namespace defrag
