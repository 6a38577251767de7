// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/solver/solver.hpp"

namespace defrag {

/// A non-owning view of a tree over labels in breadth-first order. Node v holds the labels
/// order[begin[v]..end[v]); its children, if any, are the n_children[v] nodes from first_child[v]
/// on, and hold consecutive parts of that range.
struct LabelTreeView {
    std::int64_t n_nodes = 0;
    const std::int32_t* first_child = nullptr;
    const std::int32_t* n_children = nullptr;
    const std::int32_t* begin = nullptr;
    const std::int32_t* end = nullptr;
    const std::int32_t* order = nullptr;
    std::int64_t n_order = 0;  // number of labels in `order`

    bool is_leaf(std::int64_t node) const { return n_children[node] == 0; }
    /// Returns the number of classifiers of a node: one per child, or one per label of a leaf.
    std::int64_t n_outputs(std::int64_t node) const {
        return is_leaf(node) ? end[node] - begin[node] : n_children[node];
    }
    /// Returns the beginning of the part of `order` that output i of a node represents.
    std::int32_t output_begin(std::int64_t node, std::int64_t i) const {
        return is_leaf(node) ? static_cast<std::int32_t>(begin[node] + i)
                             : begin[first_child[node] + i];
    }
    std::int32_t output_end(std::int64_t node, std::int64_t i) const {
        return is_leaf(node) ? static_cast<std::int32_t>(begin[node] + i + 1)
                             : end[first_child[node] + i];
    }
};

/// The classifiers of all nodes, feature-major: node v uses the features
/// features[feature_ptr[v]..feature_ptr[v + 1]), in ascending order; position f of that array has
/// the entries [entry_ptr[f], entry_ptr[f + 1]), one per output with a weight.
struct LabelTreeWeights {
    Vector<std::int64_t> feature_ptr{0};
    Vector<std::int32_t> features;
    Vector<std::int64_t> entry_ptr{0};
    Vector<std::uint16_t> outputs;
    Vector<float> weights;
    Vector<std::int64_t> bias_ptr{0};  // node v has bias[bias_ptr[v]..bias_ptr[v + 1])
    Vector<float> bias;
};

/// Maximum number of outputs of a node, limited by the type of LabelTreeWeights::outputs.
constexpr std::int64_t kMaxOutputs = 65536;

/// Throws std::invalid_argument unless children come after their parents and hold parts of their
/// ranges, ranges are parts of `order`, and labels are in [0, n_labels). O(nodes + labels).
void check_tree(const LabelTreeView& tree, std::int64_t n_labels);

struct LabelTreeOptions {
    SolverOptions solver;
    /// Multiply the cost of a node by (all points) / (points of the node), as Parabel and omikuji
    /// do for the logistic loss.
    bool scale_cost = false;
};

/// The blocks [first_block, last_block) of a node, of sixteen outputs each.
struct NodeBlocks {
    std::int64_t node = 0;
    std::int64_t first_block = 0;
    std::int64_t last_block = 0;
};

/// Returns all blocks of a tree, one item per node.
Vector<NodeBlocks> all_blocks(const LabelTreeView& tree);

/// Trains the classifiers of some blocks, each on the points that have a label of its node; a point
/// is positive for an output if it has a label below it. `positives` has one row per label: the
/// points that have it. Rows of X are used without normalisation. Node i of the result is items[i],
/// with outputs numbered as in the whole node. A block depends only on the data, the tree and the
/// options, so that blocks can be trained in several processes. Throws std::invalid_argument if an
/// item is not in the tree.
/// Memory: twice the result, and per thread the working set of one node.
LabelTreeWeights train_label_tree(const Context& context, const CsrView& X,
                                  const CsrView& positives, const LabelTreeView& tree,
                                  const LabelTreeOptions& options, const Vector<NodeBlocks>& items);

}  // namespace defrag
