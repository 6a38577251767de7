// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/node_scorer.hpp"
#include "core/ranking.hpp"

namespace defrag {

/// A visit of a row to a node.
struct Visit {
    std::int32_t node;
    std::int32_t row;  // in the batch
    float score;       // of the node
};

/// Returns the log score of an output with this margin, below a node with log score `parent`.
/// Without a discount it never exceeds the parent, even after rounding; pruning relies on this.
/// Weights of a model file are finite, but their sums need not be: NaN, which has no order, becomes
/// the lowest score.
inline float descend(Loss loss, int power, float discount, float parent, float margin) {
    if (loss == Loss::kLogistic) {
        const float score =
            parent * discount - static_cast<float>(softplus(-static_cast<double>(margin)));
        return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
    }
    const float slack = std::max(0.0F, 1.0F - margin);  // 0 if the margin is NaN
    return parent * discount - (power == 3 ? slack * slack * slack : slack * slack);
}

/// Orders visits by node, then by row. They arrive in row order, so many of them are sorted by
/// counting, which takes a few nanoseconds per visit instead of about fifty for a comparison sort.
inline void order_by_node(Vector<Visit>& visits) {
    const auto [lowest, highest] =
        std::minmax_element(visits.begin(), visits.end(),
                            [](const Visit& a, const Visit& b) { return a.node < b.node; });
    if (lowest == visits.end()) return;
    const std::int32_t first = lowest->node;
    const std::int64_t n_nodes = (highest->node - first) + 1;
    if (n_nodes > visits.size()) {
        std::sort(visits.begin(), visits.end(), [](const Visit& a, const Visit& b) {
            return a.node != b.node ? a.node < b.node : a.row < b.row;
        });
        return;
    }
    Vector<std::int64_t> places(n_nodes + 1);
    for (const Visit& visit : visits) ++places[(visit.node - first) + 1];
    for (std::int64_t node = 0; node < n_nodes; ++node) places[node + 1] += places[node];
    Vector<Visit> ordered(visits.size());
    for (const Visit& visit : visits) ordered[places[visit.node - first]++] = visit;
    visits.swap(ordered);
}

/// Evaluates the nodes of all visits, one node at a time, and calls receive(visit, margins). Visits
/// arrive in row order and are left in node order. `group` is scratch; the rows of the batch are
/// those of X from first_row on.
template <class Receive>
void visit_nodes(const Context& context, NodeScorer& scorer, Vector<Visit>& visits,
                 Vector<std::int32_t>& group, std::int64_t first_row, Receive receive) {
    order_by_node(visits);
    for (std::int64_t begin = 0; begin < visits.size();) {
        const std::int32_t node = visits[begin].node;
        group.clear();
        std::int64_t end = begin;
        for (; end < visits.size() && visits[end].node == node; ++end) {
            group.push_back(static_cast<std::int32_t>(first_row + visits[end].row));
        }
        scorer.score(node, group.data(), group.size(), [&](std::int64_t i, const float* margins) {
            receive(visits[begin + i], margins);
        });
        context.check();
        begin = end;
    }
}

// Number of rows searched together; large, so that many rows share each node.
constexpr std::int64_t kMaxBatch = 32768;
constexpr std::int64_t kMinBatch = 256;

/// Searches the rows of X in batches, in parallel; `Batch(context, model, options)` has
/// run(first_row, n_rows, scorer, out). The result does not depend on the batches, so their size
/// may depend on the number of threads.
template <class Batch, class Options>
TopLabels search_batches(const Context& context, const LabelTreeModel& model, const CsrView& X,
                         const Options& options) {
    context.expect(X.n_rows);
    TopLabels result(X.n_rows, options.k);
    if (model.tree.n_nodes == 0) return result;
    const std::int64_t share = X.n_rows / (4 * static_cast<std::int64_t>(context.n_threads())) + 1;
    const std::int64_t grain =
        context.n_threads() == 1 ? kMaxBatch : std::clamp(share, kMinBatch, kMaxBatch);
    PerWorker<NodeScorer> scorers(context,
                                  [&] { return NodeScorer(model, X, options.instructions); });
    parallel_for(context, X.n_rows, grain,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     Batch batch(context, model, options);
                     batch.run(begin, end - begin, scorers[worker], result);
                     context.advance(end - begin);
                 });
    return result;
}

/// Writes the best labels of a row of X, given the logarithms of their scores.
inline void write_top(Scored* items, std::int32_t size, std::int64_t row, TopLabels& out) {
    for (std::int32_t i = 0; i < size; ++i) items[i].score = std::exp(items[i].score);
    // Distinct logarithms may round to the same score, and ties of scores are broken by label.
    std::sort(items, items + size, better);
    for (std::int32_t i = 0; i < size; ++i) {
        const std::int64_t place = row * out.k + i;
        out.labels[place] = items[i].id;
        out.scores[place] = items[i].score;
    }
}

}  // namespace defrag
