// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/arrays.hpp"
#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

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

}  // namespace defrag
