// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <numeric>

#include "core/base/arrays.hpp"
#include "core/base/parallel.hpp"

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

/// One sum per column: counts, or values in fixed point.
using Sums = Vector<std::int64_t>;

/// One vector of sums per thread. They are integers, so that the total does not depend on how the
/// threads divide the work.
class PerWorkerSums {
 public:
    PerWorkerSums(const Context& context, std::int64_t size)
        : size_(size), sums_(context.n_threads()) {}

    Sums& operator[](unsigned worker) {
        if (sums_[worker].empty()) sums_[worker].resize(size_);
        return sums_[worker];
    }

    /// Returns the total, in the memory of one of the threads.
    Sums add_up() {
        Sums total = std::move((*this)[0]);
        for (std::int64_t worker = 1; worker < sums_.size(); ++worker) {
            const Sums& own = sums_[worker];
            for (std::int64_t i = 0; i < own.size(); ++i) total[i] += own[i];
        }
        return total;
    }

 private:
    std::int64_t size_;
    Vector<Sums> sums_;
};

}  // namespace defrag
