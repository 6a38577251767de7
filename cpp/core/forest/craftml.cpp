// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest/craftml.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/agglomeration/kmeans.hpp"
#include "core/base/aligned.hpp"
#include "core/base/random.hpp"
#include "core/base/ranking.hpp"
#include "core/forest/forest.hpp"
#include "core/solver/compact_rows.hpp"
#include "core/solver/pass.hpp"

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

namespace {

constexpr std::uint32_t kLineBytes = kLanes * sizeof(float);

std::int64_t padded(std::int64_t n) {
    return (n + CompactRows::kStride - 1) / CompactRows::kStride * CompactRows::kStride;
}

/// The points of a node with hashed features, restricted to the buckets that occur.
class HashedPoints {
 public:
    explicit HashedPoints(std::int64_t n_buckets) : slots_(n_buckets, -1) {}

    void assign(const CsrView& X, const Vector<std::int32_t>& points, const ItemHash& hash) {
        std::int64_t most = 0;
        for (const std::int32_t point : points) most += padded(X.end(point) - X.begin(point));
        entries_.require(most);
        buckets_.clear();
        starts_.assign(1, 0);
        Entry* out = entries_.data();
        for (const std::int32_t point : points) {
            for (auto p = X.begin(point); p < X.end(point); ++p) {
                hash.apply(X.indices[p], [&](std::int32_t bucket, float sign) {
                    std::int32_t& slot = slots_[bucket];
                    if (slot < 0) {
                        slot = static_cast<std::int32_t>(buckets_.size());
                        buckets_.push_back(bucket);
                    }
                    *out++ = {static_cast<std::uint32_t>(slot) * kLineBytes, sign * X.data[p]};
                });
            }
            while ((out - entries_.data()) % CompactRows::kStride != 0) *out++ = {0, 0.0F};
            starts_.push_back(out - entries_.data());
        }
        for (const std::int32_t bucket : buckets_) slots_[bucket] = -1;
    }

    /// The bucket of each slot.
    const Vector<std::int32_t>& buckets() const { return buckets_; }
    const Entry* begin(std::int64_t i) const { return entries_.data() + starts_[i]; }
    const Entry* end(std::int64_t i) const { return entries_.data() + starts_[i + 1]; }

 private:
    Vector<std::int32_t> slots_;  // slot of each bucket; -1 between calls
    Vector<std::int32_t> buckets_;
    Vector<std::int64_t> starts_;
    AlignedBuffer<Entry> entries_;
};

class CraftmlSplitter : public NodeSplitter {
 public:
    CraftmlSplitter(const CsrView& X, const CsrView& Y, const CraftmlOptions& options)
        : X_(X),
          options_(options),
          clusters_(Y, options.clusters),
          points_(options.n_buckets),
          score_panels_(select_score_panels(Instructions::kBest)) {}

    bool split(const NodePoints& node, NodeCut& cut) override {
        draw_sample(node);
        const std::int64_t n_clusters = clusters_.find(sample_, node.key, cluster_);
        if (n_clusters < 2) return false;
        points_.assign(X_, node.points,
                       {options_.growth.keys[node.tree], options_.n_buckets, options_.n_kept});
        average(n_clusters);
        return send(node, n_clusters, cut);
    }

 private:
    void draw_sample(const NodePoints& node) {
        const auto n = node.points.size();
        places_.resize(n);
        std::iota(places_.begin(), places_.end(), 0);
        if (n > options_.sample) {
            Stream stream(node.key, Stage::kForest, 2);
            for (std::int64_t i = 0; i < options_.sample; ++i) {
                const std::int64_t other = stream.below(n - i);
                std::swap(places_[i], places_[i + other]);
            }
            places_.resize(options_.sample);
            std::sort(places_.begin(), places_.end());
        }
        sample_.clear();
        for (const std::int32_t place : places_) sample_.push_back(node.points[place]);
    }

    /// Returns the first number of a cluster in its panel; those of consecutive slots are kLanes
    /// apart.
    float* lines(std::int64_t cluster) {
        return panels_.data() + cluster / kLanes * panel_size_ + cluster % kLanes;
    }

    /// Computes the centroids of the clusters, truncates and scales them.
    void average(std::int64_t n_clusters) {
        panel_size_ = static_cast<std::int64_t>(points_.buckets().size()) * kLanes;
        n_panels_ = (n_clusters + kLanes - 1) / kLanes;
        panels_.require(n_panels_ * panel_size_);
        std::fill(panels_.data(), panels_.data() + n_panels_ * panel_size_, 0.0F);
        for (std::int64_t i = 0; i < places_.size(); ++i) {
            if (cluster_[i] < 0) continue;
            float* sums = lines(cluster_[i]);
            const std::int64_t place = places_[i];
            for (const Entry* e = points_.begin(place); e != points_.end(place); ++e) {
                sums[e->offset / sizeof(float)] += e->value;
            }
        }
        for (std::int64_t cluster = 0; cluster < n_clusters; ++cluster) cut_and_scale(cluster);
    }

    void cut_and_scale(std::int64_t cluster) {
        float* centroid = lines(cluster);
        ranked_.clear();
        for (std::int64_t slot = 0; slot < points_.buckets().size(); ++slot) {
            const float value = centroid[slot * kLanes];
            if (value != 0.0F) {
                ranked_.push_back({std::abs(value), static_cast<std::int32_t>(slot)});
            }
        }
        const auto n = ranked_.size();
        const auto share = std::ceil(options_.kept_share * static_cast<double>(n));
        const std::int64_t kept =
            std::min(n, std::max(static_cast<std::int64_t>(share), options_.kept_least));
        if (kept < n) {
            std::nth_element(ranked_.begin(), ranked_.begin() + kept, ranked_.end(), better);
        }
        double squares = 0.0;
        for (std::int64_t i = 0; i < n; ++i) {
            float& value = centroid[ranked_[i].id * kLanes];
            if (i >= kept) value = 0.0F;
            squares += static_cast<double>(value) * static_cast<double>(value);
        }
        const auto scale = squares > 0.0 ? static_cast<float>(1.0 / std::sqrt(squares)) : 0.0F;
        for (std::int64_t i = 0; i < kept; ++i) {
            centroid[ranked_[i].id * kLanes] *= scale;
        }
    }

    /// Assigns every point to the child with the most similar centroid, ties going to the first;
    /// clusters without points do not become children. Returns false if all points go to one child.
    bool send(const NodePoints& node, std::int64_t n_clusters, NodeCut& cut) {
        scores_.require(n_panels_ * kLanes);
        float* scores = scores_.data();
        number_.assign(n_clusters, -1);
        for (std::int64_t i = 0; i < node.points.size(); ++i) {
            std::fill(scores, scores + n_panels_ * kLanes, 0.0F);
            score_panels_(points_.begin(i), points_.end(i), panels_.data(), panel_size_, n_panels_,
                          scores);
            const auto best = std::max_element(scores, scores + n_clusters) - scores;
            cut.child.push_back(static_cast<std::int32_t>(best));
            number_[best] = 0;
        }
        if (std::count(number_.begin(), number_.end(), 0) < 2) return false;
        for (std::int32_t& number : number_) {
            if (number == 0) number = cut.n_children++;
        }
        for (std::int32_t& child : cut.child) child = number_[child];
        copy_centroids(cut);
        return true;
    }

    /// Copies the centroids of the children in ascending order of buckets.
    void copy_centroids(NodeCut& cut) {
        const Vector<std::int32_t>& buckets = points_.buckets();
        order_.resize(buckets.size());
        std::iota(order_.begin(), order_.end(), 0);
        std::sort(order_.begin(), order_.end(),
                  [&buckets](std::int32_t a, std::int32_t b) { return buckets[a] < buckets[b]; });
        for (const std::int64_t slot : order_) {
            for (std::int64_t cluster = 0; cluster < number_.size(); ++cluster) {
                const float value = lines(cluster)[slot * kLanes];
                if (number_[cluster] < 0 || value == 0.0F) continue;
                cut.slots.push_back(buckets[slot]);
                cut.children.push_back(static_cast<std::uint8_t>(number_[cluster]));
                cut.weights.push_back(value);
            }
        }
    }

    const CsrView& X_;
    const CraftmlOptions& options_;
    LabelClusters clusters_;
    HashedPoints points_;
    ScorePanels score_panels_;
    Vector<std::int32_t> places_;  // positions of the sample among the points
    Vector<std::int32_t> sample_;
    Vector<std::int32_t> cluster_;
    AlignedBuffer<float> panels_;  // [panel of sixteen clusters][slot][kLanes]
    AlignedBuffer<float> scores_;
    std::int64_t panel_size_ = 0;
    std::int64_t n_panels_ = 0;
    Vector<std::int32_t> number_;  // index of each cluster among the children
    Vector<std::int32_t> order_;
    Vector<Scored> ranked_;
};

}  // namespace

Forest train_craftml(const Context& context, const CsrView& X, const CsrView& Y,
                     const float* label_weights, const CraftmlOptions& options) {
    const std::int64_t n_clusters = options.clusters.n_clusters;
    if (n_clusters < 1 || n_clusters > kMostChildren) {
        throw std::invalid_argument("n_clusters must be in [1, " + std::to_string(kMostChildren) +
                                    "], got " + std::to_string(n_clusters));
    }
    if (std::min(options.n_buckets, options.clusters.n_buckets) < 1) {
        throw std::invalid_argument("features and labels must have at least one bucket");
    }
    const auto make = [&] { return std::make_unique<CraftmlSplitter>(X, Y, options); };
    Forest forest = grow_forest(context, Y, label_weights, make, options.growth);
    forest.bias.clear();
    return forest;
}

}  // namespace defrag
