// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <numeric>

#include "core/base/arrays.hpp"

namespace defrag {

/// New numbers of the columns that occur in a matrix.
struct Numbering {
    Vector<std::int32_t> number;  // of each column; 0 if it does not occur
    std::int64_t n_occurring = 0;
};

/// Numbers columns by falling count, up to a factor of two, from 0 on: the frequent ones, to which
/// most accesses go, then share few cache lines and pages. O(columns).
inline Numbering number_by_frequency(const Vector<std::int64_t>& counts) {
    constexpr int kClasses = 64;
    const auto class_of = [&counts](std::int64_t c) {
        return __builtin_clzll(static_cast<unsigned long long>(counts[c]));
    };
    std::int64_t next[kClasses + 1] = {};
    for (std::int64_t c = 0; c < counts.size(); ++c) {
        if (counts[c] > 0) ++next[class_of(c) + 1];
    }
    std::partial_sum(next, next + kClasses + 1, next);
    Numbering result{Vector<std::int32_t>(counts.size()), next[kClasses]};
    for (std::int64_t c = 0; c < counts.size(); ++c) {
        if (counts[c] > 0) result.number[c] = static_cast<std::int32_t>(next[class_of(c)]++);
    }
    return result;
}

}  // namespace defrag
