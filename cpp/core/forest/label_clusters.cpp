// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest/label_clusters.hpp"

#include <algorithm>
#include <cmath>

#include "core/agglomeration/kmeans.hpp"
#include "core/base/random.hpp"
#include "core/forest/feature_hash.hpp"

namespace defrag {
namespace {

// Rounding leaves equal unit vectors at a squared distance of a few millionths.
constexpr float kSameDistance = 2e-5F;

}  // namespace

LabelClusters::LabelClusters(const CsrView& Y, const LabelClustersOptions& options)
    : Y_(Y), options_(options), slots_(options.n_buckets, -1) {}

std::int64_t LabelClusters::find(const Vector<std::int32_t>& points, std::uint64_t key,
                                 Vector<std::int32_t>& cluster) {
    hash_labels(points, key);
    draw_starts(key);
    if (n_starts_ < 2) return 0;
    KMeansOptions kmeans;
    kmeans.n_clusters = n_starts_;
    kmeans.tolerance = 0.0;
    kmeans.max_rounds = options_.max_rounds;
    kmeans.starts = nearest_.data();
    cluster = spherical_kmeans(alone_, items_.view(), kmeans).cluster;
    return n_starts_;
}

/// Hashes labels to unit vectors, restricted to the coordinates that occur.
void LabelClusters::hash_labels(const Vector<std::int32_t>& points, std::uint64_t key) {
    const ItemHash hash{~key, options_.n_buckets};
    items_.indptr.assign(1, 0);
    items_.indices.clear();
    items_.data.clear();
    touched_.clear();
    for (const std::int32_t point : points) {
        const std::int64_t first = items_.indices.size();
        for (auto p = Y_.begin(point); p < Y_.end(point); ++p) {
            hash.apply(Y_.indices[p], [&](std::int32_t bucket, float sign) {
                std::int32_t& slot = slots_[bucket];
                if (slot < 0) {
                    slot = static_cast<std::int32_t>(touched_.size());
                    touched_.push_back(bucket);
                }
                add(first, slot, sign);
            });
        }
        float squares = 0.0F;
        for (std::int64_t e = first; e < items_.data.size(); ++e) {
            squares += items_.data[e] * items_.data[e];
        }
        const float scale = squares > 0.0F ? 1.0F / std::sqrt(squares) : 0.0F;
        for (std::int64_t e = first; e < items_.data.size(); ++e) items_.data[e] *= scale;
        items_.indptr.push_back(items_.indices.size());
    }
    items_.n_cols = touched_.size();
    for (const std::int32_t bucket : touched_) slots_[bucket] = -1;
}

/// Adds to a coordinate of the last item, which begins at `first`. The search is linear, since an
/// item has few coordinates.
void LabelClusters::add(std::int64_t first, std::int32_t slot, float value) {
    for (std::int64_t e = first; e < items_.indices.size(); ++e) {
        if (items_.indices[e] == slot) {
            items_.data[e] += value;
            return;
        }
    }
    items_.indices.push_back(slot);
    items_.data.push_back(value);
}

/// Draws each start with a probability proportional to its squared distance to the nearest previous
/// one, 2 - 2 cos for unit vectors; stops early if every item is a start or equal to one.
void LabelClusters::draw_starts(std::uint64_t key) {
    Stream stream(key, Stage::kForest, 1);
    const std::int64_t n_items = items_.n_rows();
    nearest_.assign(n_items, -1);
    distances_.resize(n_items);
    for (std::int64_t i = 0; i < distances_.size(); ++i) {
        distances_[i] = items_.indptr[i] < items_.indptr[i + 1] ? 2.0F : 0.0F;
    }
    dense_.assign(items_.n_cols, 0.0F);
    for (n_starts_ = 0; n_starts_ < options_.n_clusters; ++n_starts_) {
        double total = 0.0;
        for (const float distance : distances_) total += static_cast<double>(distance);
        if (!(total > 0.0)) break;
        double draw = total * static_cast<double>(stream.next() >> 11) * 0x1.0p-53;
        std::int64_t chosen = 0;
        for (std::int64_t i = 0; i < n_items; ++i) {
            if (!(distances_[i] > 0.0F)) continue;
            chosen = i;
            draw -= static_cast<double>(distances_[i]);
            if (draw < 0.0) break;
        }
        compare_with(chosen);
    }
}

/// Makes an item the next start.
void LabelClusters::compare_with(std::int64_t start) {
    const auto begin = items_.indptr[start];
    const auto end = items_.indptr[start + 1];
    for (auto e = begin; e < end; ++e) dense_[items_.indices[e]] = items_.data[e];
    for (std::int64_t i = 0; i < distances_.size(); ++i) {
        float cosine = 0.0F;
        for (auto e = items_.indptr[i]; e < items_.indptr[i + 1]; ++e) {
            cosine += items_.data[e] * dense_[items_.indices[e]];
        }
        const float distance = 2.0F - 2.0F * cosine;
        if (distance < distances_[i]) {
            distances_[i] = distance < kSameDistance ? 0.0F : distance;
            nearest_[i] = static_cast<std::int32_t>(n_starts_);
        }
    }
    for (auto e = begin; e < end; ++e) dense_[items_.indices[e]] = 0.0F;
}

}  // namespace defrag
