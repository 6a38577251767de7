// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/best_first.hpp"

#include <algorithm>
#include <numeric>

#include "core/search/node_scorer.hpp"
#include "core/search/visits.hpp"

namespace defrag {
namespace {

// Number of open nodes that a row expands at a time. With more than one, some nodes are visited
// needlessly, but more rows share each node; the result is the same.
constexpr std::int64_t kNodesPerTurn = 4;
// Number of rows searched together. The result does not depend on it.
constexpr std::int64_t kMaxBatch = 32768;
constexpr std::int64_t kMinBatch = 256;

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

/// The searches of one batch of rows, in one thread.
class Batch {
 public:
    Batch(const Context& context, const LabelTreeModel& model, const BestFirstOptions& options,
          NodeScorer& scorer, std::int64_t first_row, std::int64_t n_rows)
        : context_(context),
          model_(model),
          k_(options.k),
          rule_{options.loss},
          scorer_(scorer),
          first_row_(first_row),
          frontiers_(n_rows),
          top_(n_rows * options.k),
          top_sizes_(n_rows, 0),
          active_(n_rows) {
        for (Frontier& frontier : frontiers_) frontier.push({0.0F, 0});
        std::iota(active_.begin(), active_.end(), 0);
    }

    void run(TopLabels& out) {
        while (choose_visits()) visit_nodes();
        for (std::int64_t row = 0; row < top_sizes_.size(); ++row) {
            write_labels(top_.data() + row * k_, top_sizes_[row], first_row_ + row, out);
        }
    }

 private:
    Best top_of(std::int64_t row) { return {top_.data() + row * k_, &top_sizes_[row], k_}; }

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

    /// Evaluates the nodes of all visits, one after the other.
    void visit_nodes() {
        order_by_node(Crew(context_, true), &visits_, 1, ordered_);
        for (std::int64_t begin = 0, end = 0; begin < ordered_.size(); begin = end) {
            end = end_of_node(ordered_, begin);
            rows_.clear();
            for (std::int64_t v = begin; v < end; ++v) {
                rows_.push_back(static_cast<std::int32_t>(first_row_ + ordered_[v].row));
            }
            scorer_.score({ordered_[begin].node, rows_.data(), rows_.size()},
                          [&](std::int64_t i, const Outputs& outputs, const float* margins) {
                              expand(ordered_[begin + i], outputs, margins);
                          });
            context_.check();
        }
    }

    void expand(const Visit& visit, const Outputs& outputs, const float* margins) {
        Best best = top_of(visit.row);
        const bool leaf = model_.tree.is_leaf(visit.node);
        for (std::int64_t i = 0; i < outputs.count; ++i) {
            const float score = rule_.below(visit.score, margins[i], leaf);
            if (hopeless(best, score)) continue;
            const Scored found{score, model_.tree.output_id(visit.node, outputs.first + i)};
            if (leaf) {
                best.offer(found);
            } else {
                frontiers_[visit.row].push(found);
            }
        }
    }

    const Context& context_;
    const LabelTreeModel& model_;
    const std::int64_t k_;
    const EdgeScore rule_;
    NodeScorer& scorer_;
    std::int64_t first_row_;
    Vector<Frontier> frontiers_;
    Vector<Scored> top_;  // [row][k], best first
    Vector<std::int32_t> top_sizes_;
    Vector<std::int32_t> active_;
    Vector<Visit> visits_;
    Vector<Visit> ordered_;
    Vector<std::int32_t> rows_;
};

}  // namespace

TopLabels best_first_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                            const BestFirstOptions& options) {
    context.expect(X.n_rows);
    TopLabels result(X.n_rows, options.k);
    if (model.tree.n_nodes == 0) return result;
    const std::int64_t share = X.n_rows / (4 * static_cast<std::int64_t>(context.n_threads())) + 1;
    const std::int64_t grain =
        context.n_threads() == 1 ? kMaxBatch : std::clamp(share, kMinBatch, kMaxBatch);
    PerWorker<NodeScorer> scorers(context,
                                  [&] { return NodeScorer(model, X, options.instructions); });
    parallel_for(
        context, X.n_rows, grain, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
            Batch(context, model, options, scorers[worker], begin, end - begin).run(result);
            context.advance(end - begin);
        });
    return result;
}

}  // namespace defrag
