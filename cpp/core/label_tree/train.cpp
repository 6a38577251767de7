// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/train.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/base/bitset.hpp"

namespace defrag {
namespace {

// A node with several blocks and more than 1 / kSharesPerThread of the work of a thread is trained
// by several threads; smaller ones with more than 1 / kLargePerThread of it are started early.
constexpr std::int64_t kSharesPerThread = 4;
constexpr std::int64_t kLargePerThread = 32;
constexpr auto kPollInterval = std::chrono::milliseconds(50);

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
        compact_.assign(job.X, rows_.data(), rows_.size(), job.options.solver.bias, slots_);
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

/// An item whose blocks are trained by several threads, which share the rows of its node.
class SharedItem {
 public:
    SharedItem(const Job& job, const NodeBlocks& item)
        : job_(job),
          item_(item),
          rows_(std::make_unique<NodeRows>(job.X)),
          blocks_(item.last_block - item.first_block),
          n_left_(blocks_.size()),
          prepared_(promise_.get_future()) {}

    /// Copies the rows; the blocks wait for it.
    void prepare() {
        try {
            rows_->assign(job_, item_.node);
            promise_.set_value();
        } catch (...) {
            promise_.set_exception(std::current_exception());
            throw;
        }
    }

    /// Trains a block, and joins the blocks if it was the last one.
    void train_block(const Context& context, std::int64_t block, Worker& worker, NodeWeights& out) {
        while (prepared_.wait_for(kPollInterval) != std::future_status::ready) context.check();
        prepared_.get();
        solve_block(context, job_, item_.node, item_.first_block + block, *rows_, worker.solver,
                    blocks_[block]);
        if (n_left_.fetch_sub(1) > 1) return;
        out = join_blocks(job_, item_, rows_->compact(), blocks_, worker.join);
        rows_.reset();
        blocks_ = Vector<BlockWeights>();
    }

 private:
    const Job& job_;
    const NodeBlocks& item_;
    std::unique_ptr<NodeRows> rows_;
    Vector<BlockWeights> blocks_;
    std::atomic<std::int64_t> n_left_;
    std::promise<void> promise_;
    std::shared_future<void> prepared_;
};

/// What a thread does next: all blocks of an item, one of them, or the preparation of a shared one.
struct Task {
    static constexpr std::int64_t kAllBlocks = -1;
    static constexpr std::int64_t kPrepare = -2;

    std::int64_t item;
    std::int64_t block = kAllBlocks;
};

/// Trains items in an order that keeps all threads busy. Blocks are independent of each other, so
/// the order has no influence on the result.
class Trainer {
 public:
    Trainer(const Context& context, const Job& job, const Vector<NodeBlocks>& items)
        : context_(context),
          job_(job),
          items_(items),
          work_(items.size()),
          shared_(items.size()),
          results_(items.size()),
          workers_(context, [&job] { return Worker(job.X); }) {
        for (std::int64_t i = 0; i < items.size(); ++i) work_[i] = work_of(items[i]);
        total_ = std::accumulate(work_.begin(), work_.end(), std::int64_t{0});
    }

    Vector<NodeWeights> train() {
        context_.expect(total_);
        const Vector<Task> tasks = plan();
        parallel_for(context_, tasks.size(), 1, [&](std::int64_t t, std::int64_t, unsigned w) {
            const auto [i, block] = tasks[t];
            if (block == Task::kAllBlocks) {
                train_item(context_, job_, items_[i], workers_[w], results_[i]);
            } else if (block == Task::kPrepare) {
                shared_[i]->prepare();
            } else {
                shared_[i]->train_block(context_, block, workers_[w], results_[i]);
            }
        });
        return std::move(results_);
    }

 private:
    /// Returns an upper bound on the number of points of an item times its number of blocks.
    std::int64_t work_of(const NodeBlocks& item) const {
        std::int64_t n_points = 0;
        for (std::int32_t i = job_.tree.begin[item.node]; i < job_.tree.end[item.node]; ++i) {
            const std::int32_t label = job_.tree.order[i];
            n_points += job_.positives.end(label) - job_.positives.begin(label);
        }
        return std::min(n_points, job_.X.n_rows) * (item.last_block - item.first_block);
    }

    bool exceeds(std::int64_t i, std::int64_t parts_per_thread) const {
        return work_[i] > total_ / (parts_per_thread * context_.n_threads());
    }

    bool is_shared(std::int64_t i) const {
        return context_.n_threads() > 1 && items_[i].last_block - items_[i].first_block > 1 &&
               exceeds(i, kSharesPerThread);
    }

    /// Returns the tasks, the large ones first, so that no thread is left with one at the end. The
    /// rest is in breadth-first order: neighbours have points in common.
    Vector<Task> plan() {
        Vector<std::int64_t> shared;
        Vector<std::int64_t> large;
        Vector<std::int64_t> rest;
        for (std::int64_t i = 0; i < items_.size(); ++i) {
            (is_shared(i) ? shared : exceeds(i, kLargePerThread) ? large : rest).push_back(i);
        }
        std::stable_sort(large.begin(), large.end(),
                         [this](std::int64_t a, std::int64_t b) { return work_[a] > work_[b]; });
        Vector<Task> tasks;
        const auto append = [&tasks](auto begin, auto end) {
            for (; begin != end; ++begin) tasks.push_back({*begin});
        };
        const auto prepare = [&](std::int64_t n) {
            if (n >= shared.size()) return;
            shared_[shared[n]] = std::make_unique<SharedItem>(job_, items_[shared[n]]);
            tasks.push_back({shared[n], Task::kPrepare});
        };
        // While one thread prepares a shared item, the others have something else to do.
        prepare(0);
        const std::int64_t others = std::int64_t{context_.n_threads()} - 1;
        const auto n_first = std::min(shared.empty() ? 0 : others, large.size());
        append(large.begin(), large.begin() + n_first);
        for (std::int64_t n = 0; n < shared.size(); ++n) {
            prepare(n + 1);
            const NodeBlocks& item = items_[shared[n]];
            for (std::int64_t block = 0; block < item.last_block - item.first_block; ++block) {
                tasks.push_back({shared[n], block});
            }
        }
        append(large.begin() + n_first, large.end());
        append(rest.begin(), rest.end());
        return tasks;
    }

    const Context& context_;
    const Job& job_;
    const Vector<NodeBlocks>& items_;
    Vector<std::int64_t> work_;
    std::int64_t total_ = 0;
    Vector<std::unique_ptr<SharedItem>> shared_;
    Vector<NodeWeights> results_;
    PerWorker<Worker> workers_;
};

LabelTreeWeights join_nodes(const Context& context, Vector<NodeWeights>& nodes) {
    LabelTreeWeights result;
    Vector<std::int64_t> first_entry{0};
    for (const NodeWeights& node : nodes) {
        result.feature_ptr.push_back(result.feature_ptr.back() + node.features.size());
        first_entry.push_back(first_entry.back() + node.outputs.size());
        result.bias_ptr.push_back(result.bias_ptr.back() + node.bias.size());
    }
    result.features.resize_for_overwrite(result.feature_ptr.back());
    result.entry_ptr.resize_for_overwrite(result.feature_ptr.back() + 1);
    result.outputs.resize_for_overwrite(first_entry.back());
    result.weights.resize_for_overwrite(first_entry.back());
    result.bias.resize_for_overwrite(result.bias_ptr.back());
    parallel_for(context, nodes.size(), 1, [&](std::int64_t n, std::int64_t, unsigned) {
        NodeWeights& node = nodes[n];
        const std::int64_t feature = result.feature_ptr[n];
        const auto copy = [](const auto& from, auto& to, std::int64_t place) {
            std::copy(from.begin(), from.end(), to.begin() + place);
        };
        copy(node.features, result.features, feature);
        copy(node.outputs, result.outputs, first_entry[n]);
        copy(node.weights, result.weights, first_entry[n]);
        copy(node.bias, result.bias, result.bias_ptr[n]);
        std::int64_t end = first_entry[n];
        for (std::int64_t f = 0; f < node.sizes.size(); ++f) {
            result.entry_ptr[feature + f] = end;
            end += node.sizes[f];
        }
        node = NodeWeights();
    });
    result.entry_ptr.back() = first_entry.back();
    return result;
}

void check_item(const Job& job, const NodeBlocks& item) {
    const LabelTreeView& tree = job.tree;
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
        throw std::invalid_argument("node " + std::to_string(item.node) + " does not have blocks " +
                                    std::to_string(item.first_block) + " to " +
                                    std::to_string(item.last_block));
    }
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
    const Job job{X, positives, tree, options};
    for (const NodeBlocks& item : items) check_item(job, item);
    Vector<NodeWeights> nodes = Trainer(context, job, items).train();
    return join_nodes(context, nodes);
}

}  // namespace defrag
