// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/arrays.hpp"
#include "core/solver/compact_rows.hpp"

namespace defrag {

/// A non-owning view of a tree over labels in breadth-first order. Node v holds the labels
/// order[begin[v]..end[v]); its children, if any, are the n_children[v] nodes from first_child[v]
/// on, and hold consecutive parts of that range.
struct LabelTreeShape {
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
    /// Returns what output i of a node stands for: a label of a leaf, otherwise a child.
    std::int32_t output_id(std::int64_t node, std::int64_t i) const {
        return is_leaf(node) ? order[begin[node] + i]
                             : static_cast<std::int32_t>(first_child[node] + i);
    }
};

/// Points by node: node v has points[begin[v]..begin[v + 1]), in ascending order.
struct PointLists {
    Vector<std::int64_t> begin;
    Vector<std::int32_t> points;
};

/// A non-owning view of such lists; without arrays, all of them are empty.
struct PointListsView {
    struct List {
        const std::int32_t* first;
        const std::int32_t* last;
        const std::int32_t* begin() const { return first; }
        const std::int32_t* end() const { return last; }
        std::int64_t size() const { return last - first; }
    };

    const std::int64_t* offsets = nullptr;
    std::int64_t n_offsets = 0;
    const std::int32_t* points = nullptr;
    std::int64_t n_points = 0;

    List of(std::int64_t node) const {
        if (offsets == nullptr) return {nullptr, nullptr};
        return {points + offsets[node], points + offsets[node + 1]};
    }
};

/// Throws std::invalid_argument unless there are no lists, or one per node of points in
/// [0, n_rows).
void check_lists(const PointListsView& lists, std::int64_t n_nodes, std::int64_t n_rows);

/// Maximum number of outputs of a node, limited by the type of LabelTreeWeights::outputs.
constexpr std::int64_t kMaxOutputs = 65536;

/// Throws std::invalid_argument unless children come after their parents and hold parts of their
/// ranges, ranges are parts of `order`, and labels are in [0, n_labels). O(nodes + labels).
void check_tree(const LabelTreeShape& tree, std::int64_t n_labels);

/// The blocks [first_block, last_block) of a node, of sixteen outputs each.
struct NodeBlocks {
    std::int64_t node = 0;
    std::int64_t first_block = 0;
    std::int64_t last_block = 0;
};

/// Returns the number of blocks of a node.
inline std::int64_t n_blocks(const LabelTreeShape& tree, std::int64_t node) {
    return (tree.n_outputs(node) + kLanes - 1) / kLanes;
}

/// Returns all blocks of a tree, one item per node.
Vector<NodeBlocks> all_blocks(const LabelTreeShape& tree);

/// Throws std::invalid_argument unless the tree has these blocks.
void check_blocks(const LabelTreeShape& tree, const NodeBlocks& blocks);

}  // namespace defrag
