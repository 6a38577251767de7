// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest/growth.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/random.hpp"
#include "core/base/ranking.hpp"
#include "core/base/schedule.hpp"

namespace defrag {
namespace {

/// A node of a tree that is being grown.
struct GrownNode {
    NodeCut cut;
    std::int32_t first_child = 0;  // relative to its tree
    Vector<std::int32_t> labels;
    Vector<float> values;
};

/// A node that is to be split, and its position.
struct OpenNode {
    NodePoints where;
    std::int64_t number = 0;  // relative to its tree
};

/// Label counts, cleared after use.
struct LeafScratch {
    explicit LeafScratch(std::int64_t n_labels) : counts(n_labels) {}
    Vector<std::int32_t> counts;
    Vector<std::int32_t> seen;
    Vector<Scored> ranked;
};

void describe_leaf(const CsrView& Y, const float* label_weights, const Vector<std::int32_t>& points,
                   std::int64_t n_kept, LeafScratch& scratch, GrownNode& out) {
    scratch.seen.clear();
    for (const std::int32_t point : points) {
        for (std::int64_t p = Y.begin(point); p < Y.end(point); ++p) {
            const std::int32_t label = Y.indices[p];
            if (scratch.counts[label]++ == 0) scratch.seen.push_back(label);
        }
    }
    Vector<Scored>& ranked = scratch.ranked;
    ranked.clear();
    for (const std::int32_t label : scratch.seen) {
        ranked.push_back({label_weights[label] * static_cast<float>(scratch.counts[label]), label});
    }
    top_n(ranked, n_kept, better);
    std::sort(ranked.begin(), ranked.end(),
              [](const Scored& a, const Scored& b) { return a.id < b.id; });
    for (const Scored& one : ranked) {
        const auto count = static_cast<double>(scratch.counts[one.id]);
        out.labels.push_back(one.id);
        out.values.push_back(static_cast<float>(count / static_cast<double>(points.size())));
    }
    for (const std::int32_t label : scratch.seen) scratch.counts[label] = 0;
}

std::uint64_t child_key(std::uint64_t parent, std::int32_t child) {
    std::uint64_t state = parent ^ (static_cast<std::uint64_t>(child) + 1) * 0x9FB21C651E98DF25ULL;
    return splitmix64(state);
}

class Growth {
 public:
    Growth(const Context& context, const CsrView& Y, const float* label_weights,
           const MakeSplitter& make_splitter, const GrowthOptions& options)
        : context_(context),
          Y_(Y),
          label_weights_(label_weights),
          splitters_(context, make_splitter),
          options_(options),
          trees_(options.n_trees),
          scratch_(context, [&Y] { return LeafScratch(Y.n_cols); }) {}

    Forest run() {
        context_.expect(options_.n_trees * Y_.n_rows);
        for (std::int64_t tree = 0; tree < options_.n_trees; ++tree) {
            OpenNode root;
            root.where.tree = tree;
            root.where.key = options_.keys[tree];
            root.where.points.resize(Y_.n_rows);
            std::iota(root.where.points.begin(), root.where.points.end(), 0);
            open_.push_back(std::move(root));
            trees_[tree].emplace_back();
        }
        for (std::int64_t depth = 1; !open_.empty(); ++depth) {
            split_level(depth >= options_.max_depth);
            open_children();
        }
        return join();
    }

 private:
    void split_level(bool last) {
        Crew(context_).each_largest_first(
            open_.size(), [this](std::int64_t i) { return open_[i].where.points.size(); },
            [this, last](std::int64_t i, unsigned worker) { process(open_[i], last, worker); });
    }

    void process(const OpenNode& node, bool last, unsigned worker) {
        GrownNode& grown = trees_[node.where.tree][node.number];
        const auto size = node.where.points.size();
        if (last || size <= options_.max_leaf_size ||
            !splitters_[worker]->split(node.where, grown.cut)) {
            grown.cut = NodeCut();
            describe_leaf(Y_, label_weights_, node.where.points, options_.leaf_labels,
                          scratch_[worker], grown);
            context_.advance(size);
        }
        context_.check();
    }

    /// Numbers the children of the current level in the order of their parents.
    void open_children() {
        Vector<OpenNode> next;
        for (OpenNode& node : open_) {
            Vector<GrownNode>& tree = trees_[node.where.tree];
            const std::int64_t place = node.number;
            const std::int32_t n_children = tree[place].cut.n_children;
            if (n_children == 0) continue;
            tree[place].first_child = static_cast<std::int32_t>(tree.size());
            const std::int64_t first = next.size();
            for (std::int32_t child = 0; child < n_children; ++child) {
                OpenNode opened;
                opened.where.tree = node.where.tree;
                opened.where.key = child_key(node.where.key, child);
                opened.number = tree.size();
                next.push_back(std::move(opened));
                tree.emplace_back();
            }
            const Vector<std::int32_t>& child = tree[place].cut.child;
            for (std::int64_t i = 0; i < child.size(); ++i) {
                next[first + child[i]].where.points.push_back(node.where.points[i]);
            }
            tree[place].cut.child = Vector<std::int32_t>();
            node.where.points = Vector<std::int32_t>();
        }
        open_ = std::move(next);
    }

    Forest join() {
        Forest forest;
        for (Vector<GrownNode>& tree : trees_) {
            const auto first = static_cast<std::int32_t>(forest.first_child.size());
            for (GrownNode& node : tree) {
                const NodeCut& cut = node.cut;
                forest.first_child.push_back(cut.n_children == 0 ? 0 : first + node.first_child);
                forest.n_children.push_back(cut.n_children);
                append(forest.slots, cut.slots);
                append(forest.children, cut.children);
                append(forest.weights, cut.weights);
                forest.bias.push_back(cut.bias);
                forest.entry_ptr.push_back(forest.slots.size());
                append(forest.outputs, node.labels);
                append(forest.values, node.values);
                forest.leaf_ptr.push_back(forest.outputs.size());
                node = GrownNode();
            }
            forest.tree_ptr.push_back(forest.first_child.size());
            tree = Vector<GrownNode>();
        }
        forest.labels = renumber(forest.outputs, Y_.n_cols);
        return forest;
    }

    template <class T>
    static void append(Vector<T>& all, const Vector<T>& more) {
        all.insert(all.end(), more.begin(), more.end());
    }

    const Context& context_;
    const CsrView& Y_;
    const float* label_weights_;
    PerWorker<std::unique_ptr<NodeSplitter>> splitters_;
    const GrowthOptions& options_;
    Vector<Vector<GrownNode>> trees_;
    Vector<OpenNode> open_;
    PerWorker<LeafScratch> scratch_;
};

}  // namespace

Forest grow_forest(const Context& context, const CsrView& Y, const float* label_weights,
                   const MakeSplitter& make_splitter, const GrowthOptions& options) {
    return Growth(context, Y, label_weights, make_splitter, options).run();
}

Vector<std::int32_t> renumber(Vector<std::int32_t>& ids, std::int64_t range) {
    Vector<std::int32_t> numbers(range, -1);
    for (const std::int32_t id : ids) numbers[id] = 0;
    Vector<std::int32_t> used;
    for (std::int32_t id = 0; id < range; ++id) {
        if (numbers[id] < 0) continue;
        numbers[id] = static_cast<std::int32_t>(used.size());
        used.push_back(id);
    }
    for (std::int32_t& id : ids) id = numbers[id];
    return used;
}

}  // namespace defrag
