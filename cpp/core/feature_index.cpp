// SPDX-License-Identifier: BSD-3-Clause
#include "core/feature_index.hpp"

#include <algorithm>
#include <stdexcept>

namespace defrag {
namespace {

constexpr std::int64_t kFeaturesPerBucket = 4;
constexpr std::int64_t kMostBitsPerFeature = 8;
// Buckets longer than this, due to unevenly spread features, are searched by bisection.
constexpr std::int64_t kLongBucket = 16;

/// Fibonacci hashing, whose high bits are the well-mixed ones.
std::uint32_t hash(std::int32_t feature) {
    return static_cast<std::uint32_t>(feature) * 0x9E3779B1U;
}

/// Returns the shift that maps features up to `largest` to about n_features / kFeaturesPerBucket
/// buckets.
std::int32_t find_bucket_shift(std::int32_t largest, std::int64_t n_features) {
    const std::int64_t most = std::max<std::int64_t>(1, n_features / kFeaturesPerBucket);
    std::int32_t shift = 0;
    while ((largest >> shift) >= most) ++shift;
    return shift;
}

/// Returns the shift that maps a 32-bit hash to a position in the bitmap.
std::int32_t find_hash_shift(std::int64_t n_features) {
    std::int32_t log_bits = 6;  // one 64-bit word
    while ((std::int64_t{2} << log_bits) <= n_features * kMostBitsPerFeature && log_bits < 31) {
        ++log_bits;
    }
    return 32 - log_bits;
}

const std::int32_t* find_feature(const std::int32_t* first, const std::int32_t* last,
                                 std::int32_t feature) {
    if (last - first > kLongBucket) return std::lower_bound(first, last, feature);
    while (first != last && *first < feature) ++first;
    return first;
}

}  // namespace

FeatureIndex::FeatureIndex(const std::int64_t* feature_ptr, const std::int32_t* features,
                           std::int64_t n_nodes)
    : tables_(n_nodes + 1) {
    std::int64_t n_starts = 0;
    std::int64_t n_words = 0;
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        const std::int64_t first = feature_ptr[node];
        const std::int64_t last = feature_ptr[node + 1];
        if (first < 0 || last < first || last > feature_ptr[n_nodes]) {
            throw std::invalid_argument("feature_ptr of a tree's weights must not decrease");
        }
        for (std::int64_t f = first; f < last; ++f) {
            if (features[f] < 0 || (f > first && features[f] <= features[f - 1])) {
                throw std::invalid_argument("the features of a node must increase");
            }
        }
        Table& table = tables_[node];
        table = {first, n_starts, n_words, 0, 0, find_hash_shift(last - first)};
        if (last > first) {
            table.bucket_shift = find_bucket_shift(features[last - 1], last - first);
            table.n_buckets =
                (static_cast<std::uint32_t>(features[last - 1]) >> table.bucket_shift) + 1;
        }
        n_starts += table.n_buckets + 1;
        n_words += std::int64_t{1} << (32 - table.hash_shift - 6);
    }
    tables_[n_nodes] = {feature_ptr[n_nodes], n_starts, n_words, 0, 0, 0};
    starts_.reserve(n_starts);
    words_.assign(n_words, 0);
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        const Table& table = tables_[node];
        std::uint64_t* words = words_.data() + table.first_word;
        std::uint32_t bucket = 0;
        for (std::int64_t f = table.first_feature; f < feature_ptr[node + 1]; ++f) {
            const std::uint32_t own = static_cast<std::uint32_t>(features[f]) >> table.bucket_shift;
            for (; bucket <= own; ++bucket) {
                starts_.push_back(static_cast<std::uint32_t>(f - table.first_feature));
            }
            const std::uint32_t key = hash(features[f]) >> table.hash_shift;
            words[key >> 6] |= std::uint64_t{1} << (key & 63);
        }
        starts_.push_back(static_cast<std::uint32_t>(feature_ptr[node + 1] - table.first_feature));
    }
}

std::int64_t FeatureIndex::find(std::int64_t node, const std::int32_t* features,
                                const std::int32_t* indices, std::int64_t n_indices,
                                Hit* hits) const {
    const Table& table = tables_[node];
    const std::uint32_t* starts = starts_.data() + table.first_start;
    const std::uint64_t* words = words_.data() + table.first_word;
    const std::int32_t* own = features + table.first_feature;
    // All bits are tested first, then all buckets are prefetched, then their features: the loops
    // have no unpredictable branches, so that many loads are in flight at once. Until the last
    // loop, the field `feature` of a hit holds its bucket.
    std::int64_t n_candidates = 0;
    for (std::int64_t i = 0; i < n_indices; ++i) {
        const std::uint32_t key = hash(indices[i]) >> table.hash_shift;
        const std::uint32_t bucket = static_cast<std::uint32_t>(indices[i]) >> table.bucket_shift;
        hits[n_candidates] = {bucket, i};
        const bool set = (words[key >> 6] >> (key & 63) & 1) != 0;
        n_candidates += set && bucket < table.n_buckets ? 1 : 0;
    }
    for (std::int64_t c = 0; c < n_candidates; ++c) {
        __builtin_prefetch(starts + hits[c].feature);
    }
    for (std::int64_t c = 0; c < n_candidates; ++c) {
        __builtin_prefetch(own + starts[hits[c].feature]);
    }
    std::int64_t n_hits = 0;
    for (std::int64_t c = 0; c < n_candidates; ++c) {
        const std::int32_t index = indices[hits[c].position];
        const std::uint32_t* range = starts + hits[c].feature;
        const std::int32_t* last = own + range[1];
        const std::int32_t* place = find_feature(own + range[0], last, index);
        if (place == last || *place != index) continue;
        hits[n_hits++] = {place - features, hits[c].position};
    }
    return n_hits;
}

}  // namespace defrag
