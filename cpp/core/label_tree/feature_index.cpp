// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/feature_index.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/base/bitset.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kMostBitsPerFeature = 8;
constexpr std::uint32_t kWordBits = 32;
// Number of features examined without a branch; more than that are searched by bisection.
constexpr std::int64_t kWindow = 4;

/// Returns the smallest shift for which `largest` fits into the bitmap of a node.
std::int32_t find_shift(std::int32_t largest, std::int64_t n_features) {
    std::int32_t shift = 0;
    while ((largest >> shift) >= n_features * kMostBitsPerFeature) ++shift;
    return shift;
}

/// Returns the first position in [place, end) with a feature not below `feature`, or end - 1 if
/// there is none. The range is not empty.
std::int64_t find_feature(const std::int32_t* features, std::int64_t place, std::int64_t end,
                          std::int32_t feature) {
    const std::int64_t last = end - 1;
    std::int64_t n_below = 0;
    for (std::int64_t i = 0; i < kWindow; ++i) {
        n_below += features[std::min(place + i, last)] < feature ? 1 : 0;
    }
    if (n_below == kWindow) {
        const std::int32_t* found = std::lower_bound(features + place, features + end, feature);
        return std::min(found - features, last);
    }
    return std::min(place + n_below, last);
}

}  // namespace

FeatureIndex::FeatureIndex(const std::int64_t* feature_ptr, const std::int32_t* features,
                           std::int64_t n_nodes)
    : tables_(n_nodes + 1) {
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
        table = {first, n_words, 0, 0};
        if (last > first) {
            const std::int32_t largest = features[last - 1];
            table.shift = find_shift(largest, last - first);
            table.n_words = (static_cast<std::uint32_t>(largest) >> table.shift) / kWordBits + 1;
        }
        n_words += table.n_words + 1;
    }
    tables_[n_nodes] = {feature_ptr[n_nodes], n_words, 0, 0};
    words_.assign(n_words, {0, 0});
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        const Table& table = tables_[node];
        fill(table, features + table.first_feature, feature_ptr[node + 1] - table.first_feature);
    }
}

void FeatureIndex::fill(const Table& table, const std::int32_t* features, std::int64_t n_features) {
    Word* words = words_.data() + table.first_word;
    std::uint32_t n_started = 0;  // words whose first feature is known
    for (std::int64_t f = 0; f < n_features; ++f) {
        const std::uint32_t bit = static_cast<std::uint32_t>(features[f]) >> table.shift;
        for (; n_started <= bit / kWordBits; ++n_started) {
            words[n_started].first = static_cast<std::uint32_t>(f);
        }
        words[bit / kWordBits].bits |= 1U << bit % kWordBits;
    }
    words[table.n_words].first = static_cast<std::uint32_t>(n_features);
}

std::int64_t FeatureIndex::find(std::int64_t node, const std::int32_t* features,
                                const std::int32_t* indices, std::int64_t n_indices,
                                Hit* hits) const {
    const Table& table = tables_[node];
    const Word* words = words_.data() + table.first_word;
    // The loops have no unpredictable branches, so that many loads are in flight at once. The
    // empty word rejects features above those of the node.
    std::int64_t n_candidates = 0;
    for (std::int64_t i = 0; i < n_indices; ++i) {
        const std::uint32_t bit = static_cast<std::uint32_t>(indices[i]) >> table.shift;
        hits[n_candidates].position = i;
        const Word& word = words[std::min(bit / kWordBits, table.n_words)];
        n_candidates += word.bits >> bit % kWordBits & 1U;
    }
    for (std::int64_t c = 0; c < n_candidates; ++c) {
        const std::uint32_t bit =
            static_cast<std::uint32_t>(indices[hits[c].position]) >> table.shift;
        const Word& word = words[bit / kWordBits];
        const std::uint32_t before = word.bits & ((1U << bit % kWordBits) - 1U);
        hits[c].feature = table.first_feature + word.first + count_ones(before);
        __builtin_prefetch(features + hits[c].feature);
    }
    if (table.shift == 0) return n_candidates;
    std::int64_t n_hits = 0;
    for (std::int64_t c = 0; c < n_candidates; ++c) {
        const std::int32_t index = indices[hits[c].position];
        const std::uint32_t bit = static_cast<std::uint32_t>(index) >> table.shift;
        const std::int64_t end = table.first_feature + words[bit / kWordBits + 1].first;
        const std::int64_t place = find_feature(features, hits[c].feature, end, index);
        hits[n_hits] = {place, hits[c].position};
        n_hits += features[place] == index ? 1 : 0;
    }
    return n_hits;
}

}  // namespace defrag
