// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/arrays.hpp"
#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/forest/forest.hpp"
#include "core/forest/growth.hpp"

namespace defrag {

struct LabelClustersOptions {
    std::int64_t n_clusters = 10;
    std::int64_t n_buckets = 10000;  // that labels are hashed to
    std::int64_t max_rounds = 3;     // of k-means, including the assignment of items to the starts
};

/// Clusters points by their labels: a point is the unit vector of its hashed labels, and spherical
/// k-means starts from points drawn by k-means++ (Arthur and Vassilvitskii, SODA 2007).
/// O(labels of the points * clusters) time on one thread. Memory: O(buckets), reused, and that of
/// k-means.
class LabelClusters {
 public:
    LabelClusters(const CsrView& Y, const LabelClustersOptions& options);

    /// Finds the cluster of each point, -1 for none; `key` determines the hash and the random
    /// draws. Returns the number of clusters, 0 if fewer than two points differ.
    std::int64_t find(const Vector<std::int32_t>& points, std::uint64_t key,
                      Vector<std::int32_t>& cluster);

 private:
    void hash_labels(const Vector<std::int32_t>& points, std::uint64_t key);
    void add(std::int64_t first, std::int32_t slot, float value);
    void draw_starts(std::uint64_t key);
    void compare_with(std::int64_t start);

    const CsrView& Y_;
    LabelClustersOptions options_;
    Context alone_{1};
    Vector<std::int32_t> slots_;  // slot of each bucket; -1 between calls
    Vector<std::int32_t> touched_;
    Csr items_;
    std::int64_t n_starts_ = 0;
    Vector<std::int32_t> nearest_;  // nearest start of each item
    Vector<float> distances_;       // squared distance to it
    Vector<float> dense_;
};

struct CraftmlOptions {
    GrowthOptions growth;
    LabelClustersOptions clusters;
    /// Maximum number of points of a node whose labels are clustered.
    std::int64_t sample = 20000;
    /// Number of buckets that features are hashed to, and how many of 65536 features a tree keeps.
    std::int64_t n_buckets = 10000;
    std::uint32_t n_kept = 32768;
    /// Share of the entries of a centroid that is kept, those of largest magnitude, and the minimum
    /// number to keep.
    double kept_share = 0.1;
    std::int64_t kept_least = 10;
};

/// Trains CRAFTML (Siblini, Kuntz and Meyer, ICML 2018): trees with many children per node. A node
/// clusters a sample of its points by their labels; each cluster defines a child, whose centroid is
/// the mean of the hashed features of its points, truncated to its largest entries and
/// L2-normalised; every point goes to the child with the most similar centroid. Rows of X should be
/// L2-normalised. Every node has its own hash of labels; the features of tree t are hashed by
/// ItemHash{growth.keys[t], n_buckets, n_kept}, which drops some of them: trees with different
/// features make different errors.
/// O(non-zeros * children / 16) per level. Memory: per thread a copy of a node's points.
Forest train_craftml(const Context& context, const CsrView& X, const CsrView& Y,
                     const float* label_weights, const CraftmlOptions& options);

}  // namespace defrag
