// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include "core/base/arrays.hpp"

namespace defrag {

/// The DCG contribution of a hit at a position, counted from 0.
inline double discount(std::int64_t position) {
    return 1.0 / std::log2(2.0 + static_cast<double>(position));
}

/// Ranks coordinates by descending sum (ties by id), adds `sign` times the discount of its rank to
/// each coordinate of `direction`, and returns the DCG of the ranking. Coordinates without a
/// positive sum share the rank after all others. `ranking` is scratch.
template <class Sum>
double add_discounts(const Vector<Sum>& sums, float sign, Vector<float>& direction,
                     Vector<std::int32_t>& ranking) {
    ranking.clear();
    for (std::int64_t c = 0; c < sums.size(); ++c) {
        if (sums[c] > 0) ranking.push_back(static_cast<std::int32_t>(c));
    }
    std::sort(ranking.begin(), ranking.end(), [&sums](std::int32_t a, std::int32_t b) {
        const Sum of_a = sums[static_cast<std::int64_t>(a)];
        const Sum of_b = sums[static_cast<std::int64_t>(b)];
        return of_a != of_b ? of_a > of_b : a < b;
    });
    const auto last = static_cast<float>(discount(ranking.size()));
    for (float& value : direction) value += sign * last;
    double gain = 0.0;
    for (std::int64_t position = 0; position < ranking.size(); ++position) {
        const double value = discount(position);
        const auto c = static_cast<std::int64_t>(ranking[position]);
        direction[c] += sign * (static_cast<float>(value) - last);
        gain += static_cast<double>(sums[c]) * value;
    }
    return gain;
}

}  // namespace defrag
