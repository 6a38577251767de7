// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/ranking.hpp"
#include "core/search/node_scorer.hpp"

namespace defrag {

/// A visit of a row to a node.
struct Visit {
    std::int32_t node;
    std::int32_t row;                                       // in the batch
    float score;                                            // of the node
    float bound = -std::numeric_limits<float>::infinity();  // outputs below it are of no use
    std::int64_t place = 0;                                 // among the visits ordered by node
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

/// Orders visits by node, then by row, and sets their places. The `n_ranges` lists are those of
/// consecutive ranges of rows, each in row order, so many visits are sorted by counting, which
/// takes a few nanoseconds per visit instead of about fifty for a comparison sort. for_each(n,
/// body) calls body(i) for all i below n, possibly in parallel.
template <class ForEach>
void order_by_node(Vector<Visit>* ranges, std::int64_t n_ranges, Vector<Visit>& ordered,
                   ForEach for_each) {
    Vector<std::int32_t> lowest(n_ranges);
    Vector<std::int32_t> highest(n_ranges);
    for_each(n_ranges, [&](std::int64_t r) {
        std::int32_t low = std::numeric_limits<std::int32_t>::max();
        std::int32_t high = 0;
        for (const Visit& visit : ranges[r]) {
            low = std::min(low, visit.node);
            high = std::max(high, visit.node);
        }
        lowest[r] = low;
        highest[r] = high;
    });
    const std::int32_t first = *std::min_element(lowest.begin(), lowest.end());
    const std::int32_t last = *std::max_element(highest.begin(), highest.end());
    std::int64_t n_visits = 0;
    for (std::int64_t r = 0; r < n_ranges; ++r) n_visits += ranges[r].size();
    ordered.resize_for_overwrite(n_visits);
    if (n_visits == 0) return;
    const std::int64_t n_nodes = std::int64_t{last} - first + 1;
    if (n_nodes > n_visits) {
        const auto over_visits = [&](auto body) {
            std::int64_t i = 0;
            for (std::int64_t r = 0; r < n_ranges; ++r) {
                for (Visit& visit : ranges[r]) body(visit, i++);
            }
        };
        over_visits([&](Visit& visit, std::int64_t i) {
            visit.place = i;
            ordered[i] = visit;
        });
        std::sort(ordered.begin(), ordered.end(), [](const Visit& a, const Visit& b) {
            return a.node != b.node ? a.node < b.node : a.row < b.row;
        });
        Vector<std::int64_t> places(n_visits);
        for (std::int64_t i = 0; i < n_visits; ++i) {
            places[ordered[i].place] = i;
            ordered[i].place = i;
        }
        over_visits([&](Visit& visit, std::int64_t i) { visit.place = places[i]; });
        return;
    }
    Vector<std::int64_t> places(checked_product(n_nodes, n_ranges));  // [range][node]
    for_each(n_ranges, [&](std::int64_t r) {
        std::int64_t* own = places.data() + r * n_nodes;
        for (const Visit& visit : ranges[r]) ++own[visit.node - first];
    });
    std::int64_t total = 0;
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        for (std::int64_t r = 0; r < n_ranges; ++r) {
            total += std::exchange(places[r * n_nodes + node], total);
        }
    }
    for_each(n_ranges, [&](std::int64_t r) {
        std::int64_t* own = places.data() + r * n_nodes;
        for (Visit& visit : ranges[r]) {
            visit.place = own[visit.node - first]++;
            ordered[visit.place] = visit;
        }
    });
}

/// The same for the visits of one range, in this thread.
inline void order_by_node(Vector<Visit>& visits, Vector<Visit>& ordered) {
    const auto serially = [](std::int64_t n, const auto& body) {
        for (std::int64_t i = 0; i < n; ++i) body(i);
    };
    order_by_node(&visits, 1, ordered, serially);
}

/// Evaluates the nodes of all visits, one node at a time, and calls receive(visit, outputs,
/// margins). Visits are in row order. `ordered` and `group` are scratch; the rows of the batch are
/// those of X from first_row on.
template <class Receive>
void visit_nodes(const Context& context, NodeScorer& scorer, Vector<Visit>& visits,
                 Vector<Visit>& ordered, Vector<std::int32_t>& group, std::int64_t first_row,
                 Receive receive) {
    order_by_node(visits, ordered);
    for (std::int64_t begin = 0; begin < ordered.size();) {
        const std::int32_t node = ordered[begin].node;
        group.clear();
        std::int64_t end = begin;
        for (; end < ordered.size() && ordered[end].node == node; ++end) {
            group.push_back(static_cast<std::int32_t>(first_row + ordered[end].row));
        }
        scorer.score(node, group.data(), group.size(),
                     [&](std::int64_t i, const Outputs& outputs, const float* margins) {
                         receive(ordered[begin + i], outputs, margins);
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
inline void write_top(Scored* items, std::int64_t size, std::int64_t row, TopLabels& out) {
    for (std::int64_t i = 0; i < size; ++i) items[i].score = std::exp(items[i].score);
    // Distinct logarithms may round to the same score, and ties of scores are broken by label.
    std::sort(items, items + size, better);
    for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t place = row * out.k + i;
        out.labels[place] = items[i].id;
        out.scores[place] = items[i].score;
    }
}

}  // namespace defrag
