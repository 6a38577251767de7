// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include "core/arrays.hpp"

#include "core/csr.hpp"
#include "core/forest.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// What a rule that splits nodes is told about one: its points, in rising order, and a key for its
/// random streams that follows from the seed of the tree and the way to the node alone.
struct NodePoints {
    std::int64_t tree = 0;
    std::uint64_t key = 0;
    Vector<std::int32_t> points;
};

/// What it answers: the child that each point goes to, and the weights that send it there, a
/// separator or the centroids of `children`; see ForestView.
struct NodeCut {
    std::int32_t n_children = 0;
    Vector<std::int32_t> child;  // of each point
    Vector<std::int32_t> slots;
    Vector<std::uint8_t> children;
    Vector<float> weights;
    float bias = 0.0F;
};

/// Splits nodes; one object per thread, with the scratch memory that it reuses.
class NodeSplitter {
 public:
    NodeSplitter() = default;
    NodeSplitter(const NodeSplitter&) = delete;
    NodeSplitter& operator=(const NodeSplitter&) = delete;
    virtual ~NodeSplitter() = default;

    /// Fills in `cut` so that every child has a point, or returns false: the node is a leaf.
    virtual bool split(const NodePoints& node, NodeCut& cut) = 0;
};

struct GrowthOptions {
    std::int64_t n_trees = 50;
    std::int64_t max_leaf_size = 10;
    /// Labels that a leaf keeps at most, those of the highest values times label_weights.
    std::int64_t leaf_labels = 100;
    std::int64_t max_depth = 1000;
    /// The key of the root of each tree; n_trees of them.
    const std::uint64_t* keys = nullptr;
};

/// Makes the splitter of a thread.
using MakeSplitter = std::function<std::unique_ptr<NodeSplitter>()>;

/// Grows trees over the rows of Y level by level. A node of at most max_leaf_size points, at
/// max_depth, or that cannot be split is a leaf: its distribution is the share of its points that
/// have each label. Nodes of all trees are shared among the threads, the largest first.
/// Memory: the result twice, and 4 bytes per point and tree.
Forest grow_forest(const Context& context, const CsrView& Y, const float* label_weights,
                   const MakeSplitter& make_splitter, const GrowthOptions& options);

}  // namespace defrag
