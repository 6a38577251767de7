// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/random.hpp"

namespace defrag {

/// A count sketch of a random subset of the items, selected by its key: an item is either dropped
/// or hashed to one of `n_buckets` buckets with a sign. About `n_kept` of 65536 items are kept.
struct ItemHash {
    std::uint64_t key = 0;
    std::int64_t n_buckets = 1;
    std::uint32_t n_kept = 65536;

    /// Calls visit(bucket, sign) if the item is kept.
    template <class Visit>
    void apply(std::int32_t item, Visit visit) const {
        constexpr std::uint64_t kFactor = 0xD1342543DE82EF95ULL;
        std::uint64_t state = key + static_cast<std::uint64_t>(item) * kFactor;
        const std::uint64_t bits = splitmix64(state);
        if ((bits >> 1 & 0xFFFFU) >= n_kept) return;
        const std::uint64_t bucket = (bits >> 32) * static_cast<std::uint64_t>(n_buckets) >> 32;
        visit(static_cast<std::int32_t>(bucket), (bits & 1) != 0 ? 1.0F : -1.0F);
    }
};

}  // namespace defrag
