// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/arrays.hpp"
#include "core/base/ranking.hpp"

namespace defrag {

/// Number of margins compared with the worst kept one before any is examined individually.
constexpr std::int64_t kMarginsAtOnce = 64;

/// Returns an output with its margin. Weights from a file are finite, but their sums need not be;
/// NaN, which has no order, becomes the lowest score.
inline Scored scored(float margin, std::int64_t output) {
    return {std::isnan(margin) ? -std::numeric_limits<float>::infinity() : margin,
            static_cast<std::int32_t>(output)};
}

/// Offers outputs begin, begin + 1, ... by their margins; blocks must come in ascending order.
inline void offer_block(Best& best, const float* margins, std::int64_t begin, std::int64_t count) {
    if (best.full()) {
        // Outputs come in ascending order, so of equal margins the one already kept is better.
        const float worst = best.worst().score;
        int any = 0;
        for (std::int64_t i = 0; i < count; ++i) any |= margins[i] > worst ? 1 : 0;
        if (any == 0) return;
    }
    for (std::int64_t i = 0; i < count; ++i) best.offer(scored(margins[i], begin + i));
}

/// Writes the results of a row: margins become scores, outputs become labels.
inline void write_found(Scored* found, std::int32_t n_found, const std::int32_t* labels,
                        std::int64_t row, TopLabels& out) {
    for (std::int32_t i = 0; i < n_found; ++i) {
        found[i].score =
            static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(found[i].score))));
    }
    // Distinct margins may round to the same score, and ties of scores are broken by label.
    std::sort(found, found + n_found, better);
    for (std::int32_t i = 0; i < n_found; ++i) {
        const std::int64_t place = row * out.k + i;
        out.labels[place] = labels[found[i].id];
        out.scores[place] = found[i].score;
    }
}

}  // namespace defrag
