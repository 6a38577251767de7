// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/forest/forest.hpp"
#include "core/forest/growth.hpp"
#include "core/forest/label_clusters.hpp"

namespace defrag {

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
