// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>

namespace defrag {

/// Losses of a linear classifier, as functions of the margin y (w.x + b).
enum class Loss { kSquaredHinge = 0, kLogistic = 1 };

/// log(1 + e^v) without overflow.
inline double softplus(double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); }

/// max(0, 1 - margin)^2, or log(1 + e^-margin).
inline double loss_value(Loss loss, double margin) {
    if (loss == Loss::kLogistic) return softplus(-margin);
    const double slack = std::max(0.0, 1.0 - margin);
    return slack * slack;
}

/// v log v, continued by its limit at zero.
inline double entropy_term(double v) { return v > 0.0 ? v * std::log(v) : 0.0; }

/// The contribution of one instance with dual variable `alpha` in [0, inf) or [0, cost] to the dual
/// objective, without the quadratic term and the constant offset.
inline double dual_value(Loss loss, double alpha, double cost) {
    if (loss == Loss::kSquaredHinge) return alpha - alpha * alpha / (4.0 * cost);
    const double rest = std::max(0.0, cost - alpha);
    return entropy_term(cost) - entropy_term(alpha) - entropy_term(rest);
}

}  // namespace defrag
