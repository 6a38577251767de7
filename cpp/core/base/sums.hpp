// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include "core/base/parallel.hpp"

namespace defrag {

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
