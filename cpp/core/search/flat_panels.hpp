// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <limits>

#include "core/search/flat_search.hpp"

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

/// Writes the results of a row: margins become scores, outputs become labels, which are ascending.
inline void write_found(Scored* found, std::int32_t n_found, const std::int32_t* labels,
                        std::int64_t row, TopLabels& out) {
    for (std::int32_t i = 0; i < n_found; ++i) {
        const auto margin = static_cast<double>(found[i].score);
        found[i] = {static_cast<float>(1.0 / (1.0 + std::exp(-margin))), labels[found[i].id]};
    }
    out.write(row, found, n_found);
}

/// Returns whether panels rank these rows faster than one row at a time, which is the case for many
/// rows whose features have weights for a large share of the outputs.
template <class Output>
bool panels_pay(const FlatModel<Output>& model, const CsrView& X, std::int64_t k);

/// Ranks rows with results bit-identical to flat_search: the weights of a few outputs at a time are
/// unpacked into the solver's panels, including zeros, and stay in the cache while all rows are
/// scored, SIMD across outputs. Memory: per thread, 256 bytes per feature (of all threads about a
/// gigabyte, or those of one thread) and the best outputs of some thousand rows; and a copy of
/// these rows.
template <class Output>
void rank_by_panels(const Context& context, const FlatModel<Output>& model, const CsrView& X,
                    TopLabels& result);

}  // namespace defrag
