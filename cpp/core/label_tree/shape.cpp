// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/shape.hpp"

#include <stdexcept>
#include <string>

namespace defrag {

void check_tree(const LabelTreeShape& tree, std::int64_t n_labels) {
    const auto refuse = [](std::int64_t node) {
        throw std::invalid_argument("node " + std::to_string(node) +
                                    " of a label tree has labels or children out of place");
    };
    for (std::int64_t node = 0; node < tree.n_nodes; ++node) {
        const std::int64_t first = tree.first_child[node];
        const std::int64_t count = tree.n_children[node];
        if (tree.begin[node] < 0 || tree.begin[node] > tree.end[node] ||
            tree.end[node] > tree.n_order || count < 0) {
            refuse(node);
        }
        if (count > 0 && (first <= node || first > tree.n_nodes - count)) refuse(node);
        for (std::int64_t child = first; child < first + count; ++child) {
            if (tree.begin[child] < tree.begin[node] || tree.end[child] > tree.end[node]) {
                refuse(child);
            }
        }
    }
    for (std::int64_t i = 0; i < tree.n_order; ++i) {
        if (tree.order[i] < 0 || tree.order[i] >= n_labels) {
            throw std::invalid_argument("a label tree holds label " +
                                        std::to_string(tree.order[i]) + ", but there are " +
                                        std::to_string(n_labels));
        }
    }
}

void check_lists(const PointListsView& lists, std::int64_t n_nodes, std::int64_t n_rows) {
    if (lists.offsets == nullptr) return;
    bool holds = lists.n_offsets == n_nodes + 1 && lists.offsets[0] == 0 &&
                 lists.offsets[n_nodes] == lists.n_points;
    for (std::int64_t node = 0; holds && node < n_nodes; ++node) {
        holds = lists.offsets[node] <= lists.offsets[node + 1];
    }
    for (std::int64_t i = 0; holds && i < lists.n_points; ++i) {
        holds = lists.points[i] >= 0 && lists.points[i] < n_rows;
    }
    if (!holds) throw std::invalid_argument("negatives must be lists of points, one per node");
}

Vector<NodeBlocks> all_blocks(const LabelTreeShape& tree) {
    Vector<NodeBlocks> items(tree.n_nodes);
    for (std::int64_t node = 0; node < tree.n_nodes; ++node) {
        items[node] = {node, 0, n_blocks(tree, node)};
    }
    return items;
}

void check_blocks(const LabelTreeShape& tree, const NodeBlocks& blocks) {
    if (blocks.node < 0 || blocks.node >= tree.n_nodes) {
        throw std::invalid_argument("a label tree of " + std::to_string(tree.n_nodes) +
                                    " nodes has no node " + std::to_string(blocks.node));
    }
    if (tree.n_outputs(blocks.node) > kMaxOutputs) {
        throw std::invalid_argument("a node must have at most 65536 children or labels, got " +
                                    std::to_string(tree.n_outputs(blocks.node)));
    }
    if (blocks.first_block < 0 || blocks.first_block > blocks.last_block ||
        blocks.last_block > n_blocks(tree, blocks.node)) {
        throw std::invalid_argument("node " + std::to_string(blocks.node) +
                                    " does not have blocks " + std::to_string(blocks.first_block) +
                                    " to " + std::to_string(blocks.last_block));
    }
}

}  // namespace defrag
