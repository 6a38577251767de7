// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/best_first.hpp"

#include <algorithm>

#include "core/search/visits.hpp"

namespace defrag {
namespace {

// Number of open nodes that a row expands at a time. With more than one, some nodes are visited
// needlessly, but more rows share each node; the result is the same.
constexpr std::int64_t kNodesPerTurn = 4;

/// Comparison for the heaps of the standard library, with the better item on top.
bool worse(const Scored& a, const Scored& b) { return better(b, a); }

/// The open nodes of a row, as a heap.
class Frontier {
 public:
    bool empty() const { return heap_.empty(); }
    void clear() { heap_.clear(); }

    void push(const Scored& node) {
        heap_.push_back(node);
        std::push_heap(heap_.begin(), heap_.end(), worse);
    }

    Scored pop() {
        std::pop_heap(heap_.begin(), heap_.end(), worse);
        const Scored node = heap_.back();
        heap_.pop_back();
        return node;
    }

 private:
    Vector<Scored> heap_;
};

/// The searches of one batch of rows.
class Batch {
 public:
    Batch(const Context& context, const LabelTreeModel& model, const BestFirstOptions& options)
        : context_(context), model_(model), options_(options) {}

    void run(std::int64_t first_row, std::int64_t n_rows, NodeScorer& scorer, TopLabels& out) {
        first_row_ = first_row;
        top_.resize(n_rows * options_.k);
        top_sizes_.assign(n_rows, 0);
        frontiers_.assign(n_rows, Frontier());
        for (std::int64_t row = 0; row < n_rows; ++row) {
            frontiers_[row].push({0.0F, 0});
            active_.push_back(static_cast<std::int32_t>(row));
        }
        while (choose_visits()) {
            visit_nodes(context_, scorer, visits_, ordered_, group_, first_row_,
                        [this](const Visit& visit, const Outputs& outputs, const float* margins) {
                            expand(visit, outputs, margins);
                        });
        }
        for (std::int64_t row = 0; row < n_rows; ++row) {
            write_top(top_.data() + row * options_.k, top_sizes_[row], first_row_ + row, out);
        }
    }

 private:
    Best top_of(std::int64_t row) {
        return {top_.data() + row * options_.k, &top_sizes_[row], options_.k};
    }

    /// Returns whether a node cannot contribute. A node with the same score as the worst label
    /// found may still contain a label with that score and a smaller id.
    static bool hopeless(const Best& best, float score) {
        return best.full() && score < best.worst().score;
    }

    /// Pops the best open nodes of every unfinished row; returns false if all rows are finished.
    bool choose_visits() {
        visits_.clear();
        std::int64_t n_active = 0;
        for (const std::int32_t row : active_) {
            Frontier& frontier = frontiers_[row];
            if (frontier.empty()) continue;
            const std::int64_t n_before = visits_.size();
            for (std::int64_t i = 0; i < kNodesPerTurn && !frontier.empty(); ++i) {
                const Scored node = frontier.pop();
                if (hopeless(top_of(row), node.score)) {
                    frontier.clear();
                    break;
                }
                visits_.push_back({node.id, row, node.score});
            }
            if (visits_.size() == n_before) continue;
            active_[n_active++] = row;
        }
        active_.resize(n_active);
        return n_active > 0;
    }

    void expand(const Visit& visit, const Outputs& outputs, const float* margins) {
        Best best = top_of(visit.row);
        const LabelTreeShape& tree = model_.tree;
        const bool leaf = tree.is_leaf(visit.node);
        for (std::int64_t i = 0; i < outputs.count; ++i) {
            const float score = descend(options_.loss, 2, 1.0F, visit.score, margins[i]);
            if (hopeless(best, score)) continue;
            const std::int64_t output = outputs.first + i;
            if (leaf) {
                best.offer({score, tree.order[tree.begin[visit.node] + output]});
            } else {
                frontiers_[visit.row].push(
                    {score, static_cast<std::int32_t>(tree.first_child[visit.node] + output)});
            }
        }
    }

    const Context& context_;
    const LabelTreeModel& model_;
    const BestFirstOptions& options_;
    std::int64_t first_row_ = 0;
    Vector<Frontier> frontiers_;
    Vector<Scored> top_;  // [row][k], best first
    Vector<std::int32_t> top_sizes_;
    Vector<std::int32_t> active_;
    Vector<Visit> visits_;
    Vector<Visit> ordered_;
    Vector<std::int32_t> group_;
};

}  // namespace

TopLabels best_first_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                            const BestFirstOptions& options) {
    return search_batches<Batch>(context, model, X, options);
}

}  // namespace defrag
