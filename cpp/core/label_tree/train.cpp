// SPDX-License-Identifier: BSD-3-Clause
// Training of a label tree: one-vs-rest in every node, sixteen outputs at a time.
#include "core/label_tree/train.hpp"

#include <algorithm>

#include "core/base/schedule.hpp"

namespace defrag {
namespace {

/// The points of one node: those that have a label below it, and its negatives; copied once for all
/// blocks.
class NodePoints {
 public:
    NodePoints(const CsrView& X, Storage* storage)
        : members_(X.n_rows), places_(X.n_rows), slots_(X.n_cols), rows_(storage) {}

    void assign(const CsrView& X, const CsrView& positives, const LabelTreeShape& tree,
                const PointListsView& negatives, std::int64_t node, float bias,
                const float* weights) {
        for (std::int32_t i = tree.begin[node]; i < tree.end[node]; ++i) {
            const std::int32_t label = tree.order[i];
            for (auto p = positives.begin(label); p < positives.end(label); ++p) {
                members_.insert(positives.indices[p]);
            }
        }
        for (const std::int32_t point : negatives.of(node)) members_.insert(point);
        ids_.clear();
        members_.drain([this](std::int32_t point) {
            places_[point] = static_cast<std::int32_t>(ids_.size());
            ids_.push_back(point);
        });
        rows_.assign(X, ids_.data(), ids_.size(), bias, slots_);
        rows_.weigh(weights, ids_.data());
    }

    const CompactRows& rows() const { return rows_; }
    /// The row of a point; undefined for points that are not of the node.
    std::int32_t row_of(std::int32_t point) const { return places_[point]; }

 private:
    OrderedSet members_;
    Vector<std::int32_t> places_;
    Vector<std::int32_t> slots_;
    Vector<std::int32_t> ids_;
    CompactRows rows_;
};

/// A node in work.
struct Node {
    NodePoints points;
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
                                  Storage* storage) {
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
    PerWorker<BlockSolver> solvers(context, [] { return BlockSolver(); });
    PerWorker<BlockJoiner> joiners(context, [&X] { return BlockJoiner(X.n_cols); });
    run_divided(
        context, sizes, [&] { return Node{NodePoints(X, storage), {}}; },
        [&](std::int64_t item, Node& node) {
            node.points.assign(X, positives, tree, negatives, items[item].node, options.bias,
                               weights);
            node.blocks.resize(sizes[item].n_parts);
        },
        [&](std::int64_t item, std::int64_t part, Node& node, unsigned worker) {
            const std::int64_t id = items[item].node;
            const std::int64_t block = items[item].first_block + part;
            const Range outputs{block * kLanes, std::min((block + 1) * kLanes, tree.n_outputs(id))};
            BlockSolver& solver = solvers[worker];
            solver.start(node.points.rows(), outputs.size());
            mark_positives(solver, node.points, positives, tree, id, outputs);
            solver.solve(context, options,
                         static_cast<std::uint64_t>(id * (kMaxOutputs / kLanes) + block));
            solver.collect(options, node.blocks[part]);
            context.advance(node.points.rows().n_rows());
        },
        [&](std::int64_t item, Node& node, unsigned worker) {
            const auto [id, first_block, last_block] = items[item];
            results[item] = joiners[worker].join(node.points.rows(), node.blocks,
                                                 first_block * kLanes, tree.n_outputs(id));
        });
    return join_nodes(context, results);
}

}  // namespace defrag
