// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/bitset.hpp"

namespace defrag {
namespace {

// A node with several blocks and at least 1 / kWideShare of the points is trained by all threads.
constexpr std::int64_t kWideShare = 16;

/// The classifiers of one node, before they are merged with the others.
struct NodeWeights {
    Vector<std::int32_t> features;
    Vector<std::int32_t> sizes;  // entries per feature
    Vector<std::uint16_t> outputs;
    Vector<float> weights;
    Vector<float> bias;
};

/// The arguments shared by all nodes.
struct Job {
    const CsrView& X;
    const CsrView& positives;
    const LabelTreeView& tree;
    const LabelTreeOptions& options;
    const Vector<float>& norms;

    std::int64_t n_blocks(std::int64_t node) const {
        return (tree.n_outputs(node) + kLanes - 1) / kLanes;
    }
};

/// The points of one node: their ids, their positions in the list, and a compact copy.
class NodeRows {
 public:
    explicit NodeRows(const CsrView& X) : members_(X.n_rows), places_(X.n_rows), slots_(X.n_cols) {}

    void assign(const Job& job, std::int64_t node) {
        const LabelTreeView& tree = job.tree;
        for (std::int32_t i = tree.begin[node]; i < tree.end[node]; ++i) {
            const std::int32_t label = tree.order[i];
            for (auto p = job.positives.begin(label); p < job.positives.end(label); ++p) {
                members_.insert(job.positives.indices[p]);
            }
        }
        rows_.clear();
        members_.drain([this](std::int32_t row) {
            places_[row] = static_cast<std::int32_t>(rows_.size());
            rows_.push_back(row);
        });
        compact_.assign(job.X, job.norms, rows_.data(), rows_.size(), job.options.solver.bias,
                        slots_);
    }

    const CompactRows& compact() const { return compact_; }
    /// The position of a point in the list of the node; undefined for other points.
    std::int32_t place(std::int32_t row) const { return places_[row]; }

 private:
    OrderedSet members_;
    Vector<std::int32_t> places_;
    Vector<std::int32_t> slots_;
    Vector<std::int32_t> rows_;
    CompactRows compact_;
};

void solve_block(const Context& context, const Job& job, std::int64_t node, std::int64_t block,
                 const NodeRows& rows, BlockSolver& solver, BlockWeights& out) {
    const LabelTreeView& tree = job.tree;
    const std::int64_t first = block * kLanes;
    const std::int64_t n_lanes = std::min(kLanes, tree.n_outputs(node) - first);
    solver.start(rows.compact(), n_lanes);
    for (std::int64_t lane = 0; lane < n_lanes; ++lane) {
        const std::int32_t end = tree.output_end(node, first + lane);
        for (std::int32_t i = tree.output_begin(node, first + lane); i < end; ++i) {
            const std::int32_t label = tree.order[i];
            for (auto p = job.positives.begin(label); p < job.positives.end(label); ++p) {
                solver.mark(lane, rows.place(job.positives.indices[p]));
            }
        }
    }
    SolverOptions options = job.options.solver;
    const std::int64_t n_rows = rows.compact().n_rows();
    if (job.options.scale_cost && n_rows > 0) {
        options.cost *= static_cast<double>(job.X.n_rows) / static_cast<double>(n_rows);
    }
    const std::int64_t item = node * (kMaxOutputs / kLanes) + block;
    solver.solve(context, options, static_cast<std::uint64_t>(item));
    solver.collect(options, out);
    context.advance(n_rows);
}

/// Scratch memory of join_blocks.
struct JoinScratch {
    explicit JoinScratch(std::int64_t n_features) : used(n_features), slot_of(n_features) {}
    OrderedSet used;               // features with a weight
    Vector<std::int32_t> slot_of;  // of the features that are used
    Vector<std::int64_t> next;     // number of entries of a slot, then the position of the next one
};

/// Merges the blocks of an item: features in ascending order, outputs in ascending order within
/// each.
NodeWeights join_blocks(const Job& job, const NodeBlocks& item, const CompactRows& rows,
                        const Vector<BlockWeights>& blocks, JoinScratch& scratch) {
    NodeWeights result;
    Vector<std::int64_t>& next = scratch.next;
    next.assign(rows.n_slots(), 0);
    for (const BlockWeights& block : blocks) {
        for (const std::int32_t slot : block.slots) ++next[slot];
    }
    std::int64_t n_used = 0;
    for (std::int32_t slot = 1; slot < rows.n_slots(); ++slot) {
        if (next[slot] == 0) continue;
        scratch.used.insert(rows.feature(slot));
        scratch.slot_of[rows.feature(slot)] = slot;
        ++n_used;
    }
    result.features.reserve(n_used);
    result.sizes.reserve(n_used);
    std::int64_t total = 0;
    scratch.used.drain([&](std::int32_t feature) {
        std::int64_t& place = next[scratch.slot_of[feature]];
        result.features.push_back(feature);
        result.sizes.push_back(static_cast<std::int32_t>(place));
        total += std::exchange(place, total);
    });
    result.outputs.resize(total);
    result.weights.resize(total);
    const std::int64_t n_outputs = job.tree.n_outputs(item.node);
    for (std::int64_t b = 0; b < blocks.size(); ++b) {
        const BlockWeights& block = blocks[b];
        const std::int64_t first = (item.first_block + b) * kLanes;
        for (std::int64_t e = 0; e < block.slots.size(); ++e) {
            const std::int64_t place = next[block.slots[e]]++;
            result.outputs[place] = static_cast<std::uint16_t>(first + block.lanes[e]);
            result.weights[place] = block.weights[e];
        }
        result.bias.insert(result.bias.end(), block.bias,
                           block.bias + std::min(kLanes, n_outputs - first));
    }
    return result;
}

/// Per-thread state.
struct Worker {
    explicit Worker(const CsrView& X) : rows(X), join(X.n_cols) {}
    NodeRows rows;
    JoinScratch join;
    BlockSolver solver;
    Vector<BlockWeights> blocks;
};

void train_item(const Context& context, const Job& job, const NodeBlocks& item, Worker& worker,
                NodeWeights& out) {
    worker.rows.assign(job, item.node);
    worker.blocks.resize(item.last_block - item.first_block);
    for (std::int64_t b = 0; b < worker.blocks.size(); ++b) {
        solve_block(context, job, item.node, item.first_block + b, worker.rows, worker.solver,
                    worker.blocks[b]);
    }
    out = join_blocks(job, item, worker.rows.compact(), worker.blocks, worker.join);
}

/// Trains the blocks of one item with all threads, which share the rows of its node.
void train_wide_item(const Context& context, const Job& job, const NodeBlocks& item,
                     PerWorker<Worker>& workers, NodeWeights& out) {
    const NodeRows& rows = workers[0].rows;
    workers[0].rows.assign(job, item.node);
    Vector<BlockWeights> blocks(item.last_block - item.first_block);
    parallel_for(context, blocks.size(), 1, [&](std::int64_t b, std::int64_t, unsigned w) {
        solve_block(context, job, item.node, item.first_block + b, rows, workers[w].solver,
                    blocks[b]);
    });
    out = join_blocks(job, item, rows.compact(), blocks, workers[0].join);
}

LabelTreeWeights join_nodes(Vector<NodeWeights>& nodes) {
    LabelTreeWeights result;
    std::int64_t n_features = 0;
    std::int64_t n_entries = 0;
    for (const NodeWeights& node : nodes) {
        n_features += node.features.size();
        n_entries += node.outputs.size();
    }
    result.features.reserve(n_features);
    result.entry_ptr.reserve(n_features + 1);
    result.outputs.reserve(n_entries);
    result.weights.reserve(n_entries);
    for (NodeWeights& node : nodes) {
        result.features.insert(result.features.end(), node.features.begin(), node.features.end());
        for (const std::int32_t size : node.sizes) {
            result.entry_ptr.push_back(result.entry_ptr.back() + size);
        }
        result.outputs.insert(result.outputs.end(), node.outputs.begin(), node.outputs.end());
        result.weights.insert(result.weights.end(), node.weights.begin(), node.weights.end());
        result.bias.insert(result.bias.end(), node.bias.begin(), node.bias.end());
        result.feature_ptr.push_back(result.features.size());
        result.bias_ptr.push_back(result.bias.size());
        node = NodeWeights();
    }
    return result;
}

/// Returns an upper bound on the number of points of a node.
std::int64_t count_positives(const Job& job, std::int64_t node) {
    std::int64_t count = 0;
    for (std::int32_t i = job.tree.begin[node]; i < job.tree.end[node]; ++i) {
        const std::int32_t label = job.tree.order[i];
        count += job.positives.end(label) - job.positives.begin(label);
    }
    return std::min(count, job.X.n_rows);
}

}  // namespace

void check_tree(const LabelTreeView& tree, std::int64_t n_labels) {
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

Vector<NodeBlocks> all_blocks(const LabelTreeView& tree) {
    Vector<NodeBlocks> items(tree.n_nodes);
    for (std::int64_t node = 0; node < tree.n_nodes; ++node) {
        items[node] = {node, 0, (tree.n_outputs(node) + kLanes - 1) / kLanes};
    }
    return items;
}

LabelTreeWeights train_label_tree(const Context& context, const CsrView& X,
                                  const CsrView& positives, const LabelTreeView& tree,
                                  const LabelTreeOptions& options,
                                  const Vector<NodeBlocks>& items) {
    CompactRows::check_width(X);
    check_tree(tree, positives.n_rows);
    const Vector<float> norms = squared_norms(context, X, options.solver.bias);
    const Job job{X, positives, tree, options, norms};
    Vector<std::int64_t> wide;
    Vector<std::int64_t> narrow;
    std::int64_t work = 0;
    for (std::int64_t i = 0; i < items.size(); ++i) {
        const NodeBlocks& item = items[i];
        if (item.node < 0 || item.node >= tree.n_nodes) {
            throw std::invalid_argument("a label tree of " + std::to_string(tree.n_nodes) +
                                        " nodes has no node " + std::to_string(item.node));
        }
        if (tree.n_outputs(item.node) > kMaxOutputs) {
            throw std::invalid_argument("a node must have at most 65536 children or labels, got " +
                                        std::to_string(tree.n_outputs(item.node)));
        }
        if (item.first_block < 0 || item.first_block > item.last_block ||
            item.last_block > job.n_blocks(item.node)) {
            throw std::invalid_argument(
                "node " + std::to_string(item.node) + " does not have blocks " +
                std::to_string(item.first_block) + " to " + std::to_string(item.last_block));
        }
        const std::int64_t n_points = count_positives(job, item.node);
        const std::int64_t n_blocks = item.last_block - item.first_block;
        const bool shared = n_blocks > 1 && n_points * kWideShare >= X.n_rows;
        (shared ? wide : narrow).push_back(i);
        work += n_points * n_blocks;
    }
    context.expect(work);
    PerWorker<Worker> workers(context, [&X] { return Worker(X); });
    Vector<NodeWeights> results(items.size());
    for (const std::int64_t i : wide) train_wide_item(context, job, items[i], workers, results[i]);
    // Breadth-first order puts the large nodes first, so that no thread is left with one at the
    // end.
    parallel_for(context, narrow.size(), 1, [&](std::int64_t n, std::int64_t, unsigned w) {
        const std::int64_t i = narrow[n];
        train_item(context, job, items[i], workers[w], results[i]);
    });
    return join_nodes(results);
}

}  // namespace defrag
