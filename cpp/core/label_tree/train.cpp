// SPDX-License-Identifier: BSD-3-Clause
// Training of a label tree: one-vs-rest in every node, sixteen outputs at a time.
#include "core/label_tree/train.hpp"

#include <algorithm>

#include "core/base/schedule.hpp"

namespace defrag {
namespace {

/// A node in work.
struct Node {
    std::shared_ptr<NodePoints> points;
    Vector<BlockWeights> blocks;
};

/// Marks the points that have a label below an output of the block as its positives.
void mark_positives(BlockSolver& solver, const NodePoints& points, const CsrView& positives,
                    const LabelTreeShape& tree, std::int64_t node, const Range& outputs) {
    for (std::int64_t output = outputs.begin; output < outputs.end; ++output) {
        const std::int32_t end = tree.output_end(node, output);
        for (std::int32_t i = tree.output_begin(node, output); i < end; ++i) {
            const std::int32_t label = tree.order[i];
            for (auto p = positives.begin(label); p < positives.end(label); ++p) {
                solver.mark(output - outputs.begin, points.row_of(positives.indices[p]));
            }
        }
    }
}

/// Returns an upper bound on the number of points of a node.
std::int64_t most_points(const CsrView& positives, const LabelTreeShape& tree,
                         const PointListsView& negatives, std::int64_t node) {
    std::int64_t n_points = negatives.of(node).size();
    for (std::int32_t i = tree.begin[node]; i < tree.end[node]; ++i) {
        const std::int32_t label = tree.order[i];
        n_points += positives.end(label) - positives.begin(label);
    }
    return std::min(n_points, positives.n_cols);
}

}  // namespace

LabelTreeWeights train_label_tree(const Context& context, const CsrView& X,
                                  const CsrView& positives, const LabelTreeShape& tree,
                                  const PointListsView& negatives, const SolverOptions& options,
                                  const Vector<NodeBlocks>& items, const float* weights,
                                  Storage* storage, RootPoints* root) {
    CompactRows::check_width(X);
    check_tree(tree, positives.n_rows);
    check_lists(negatives, tree.n_nodes, X.n_rows);
    Vector<DividedItem> sizes;
    for (const NodeBlocks& item : items) {
        check_blocks(tree, item);
        const std::int64_t n_parts = item.last_block - item.first_block;
        sizes.push_back({n_parts, n_parts * most_points(positives, tree, negatives, item.node)});
    }

    Vector<NodeWeights> results(items.size());
    PerWorker<BlockSolver> solvers(context, [storage] { return BlockSolver(storage); });
    PerWorker<BlockJoiner> joiners(context, [&X] { return BlockJoiner(X.n_cols); });
    run_divided(
        context, sizes, [] { return Node(); },
        [&](std::int64_t item, Node& node) {
            const bool shared = root != nullptr && items[item].node == 0;
            node.blocks.resize(sizes[item].n_parts);
            if (shared && root->points != nullptr) {
                node.points = root->points;
                return;
            }
            // Points that the root keeps are not those of the next node.
            if (node.points.use_count() != 1)
                node.points = std::make_shared<NodePoints>(X, storage);
            node.points->assign(X, positives, tree, negatives, items[item].node, options, weights);
            if (shared) root->points = node.points;
        },
        [&](std::int64_t item, std::int64_t part, Node& node, unsigned worker) {
            const std::int64_t id = items[item].node;
            const std::int64_t block = items[item].first_block + part;
            const Range outputs{block * kLanes, std::min((block + 1) * kLanes, tree.n_outputs(id))};
            BlockSolver& solver = solvers[worker];
            solver.start(node.points->rows(), outputs.size());
            mark_positives(solver, *node.points, positives, tree, id, outputs);
            solver.solve(context, options,
                         static_cast<std::uint64_t>(id * (kMaxOutputs / kLanes) + block));
            solver.collect(options, node.blocks[part]);
            context.advance(node.points->rows().n_rows());
        },
        [&](std::int64_t item, Node& node, unsigned worker) {
            const auto [id, first_block, last_block] = items[item];
            results[item] = joiners[worker].join(node.points->rows(), node.blocks,
                                                 first_block * kLanes, tree.n_outputs(id));
        });
    return join_nodes(context, results);
}

}  // namespace defrag
