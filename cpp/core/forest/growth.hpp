// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include "core/base/arrays.hpp"

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/forest/forest.hpp"

namespace defrag {

/// A node to be split: its points, in ascending order, and a key for its random streams that
/// depends only on the seed of the tree and the path to the node.
struct NodePoints {
    std::int64_t tree = 0;
    std::uint64_t key = 0;
    Vector<std::int32_t> points;
};

/// The result of a split: the child of each point, and the weights that route points, either a
/// separator or the centroids of `children`; see ForestView.
struct NodeCut {
    std::int32_t n_children = 0;
    Vector<std::int32_t> child;  // child of each point
    Vector<std::int32_t> slots;
    Vector<std::uint8_t> children;
    Vector<float> weights;
    float bias = 0.0F;
};

/// Splits nodes; one object per thread, which reuses its scratch memory.
class NodeSplitter {
 public:
    NodeSplitter() = default;
    NodeSplitter(const NodeSplitter&) = delete;
    NodeSplitter& operator=(const NodeSplitter&) = delete;
    virtual ~NodeSplitter() = default;

    /// Fills `cut` so that every child has at least one point, or returns false to make the node a
    /// leaf.
    virtual bool split(const NodePoints& node, NodeCut& cut) = 0;
};

struct GrowthOptions {
    std::int64_t n_trees = 50;
    std::int64_t max_leaf_size = 10;
    /// Maximum number of labels in a leaf, those with the highest values times label_weights.
    std::int64_t leaf_labels = 100;
    std::int64_t max_depth = 1000;
    /// The key of the root of each tree; n_trees items.
    const std::uint64_t* keys = nullptr;
};

/// Creates the splitter of a thread.
using MakeSplitter = std::function<std::unique_ptr<NodeSplitter>()>;

/// Grows trees over the rows of Y level by level. A node becomes a leaf if it has at most
/// max_leaf_size points, is at max_depth, or cannot be split; its distribution is the share of its
/// points that have each label. The nodes of all trees are distributed over the threads, largest
/// first.
/// Memory: twice the result, and 4 bytes per point and tree.
Forest grow_forest(const Context& context, const CsrView& Y, const float* label_weights,
                   const MakeSplitter& make_splitter, const GrowthOptions& options);

}  // namespace defrag
