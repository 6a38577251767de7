// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/node_scorer.hpp"
#include "core/ranking.hpp"

namespace defrag {

/// A row that has to visit a node.
struct Visit {
    std::int32_t node;
    std::int32_t row;  // in the batch
    float score;       // of the node
};

/// The score of an output with this margin, below a node with score `parent`. Never above the
/// parent when there is no discount, also after rounding, which is what pruning rests on.
inline float descend(Loss loss, float discount, float parent, float margin) {
    if (loss == Loss::kLogistic) {
        return parent * discount - static_cast<float>(softplus(-static_cast<double>(margin)));
    }
    const float slack = std::max(0.0F, 1.0F - margin);
    return parent * discount - slack * slack;
}

/// Evaluates the nodes of all visits, one node after the other, and calls
/// receive(visit, margins). Orders the visits. `group` is scratch; the rows of the batch are
/// those of X from first_row on.
template <class Receive>
void visit_nodes(const Context& context, NodeScorer& scorer, std::vector<Visit>& visits,
                 std::vector<std::int32_t>& group, std::int64_t first_row, Receive receive) {
    std::sort(visits.begin(), visits.end(), [](const Visit& a, const Visit& b) {
        return a.node != b.node ? a.node < b.node : a.row < b.row;
    });
    for (std::size_t begin = 0; begin < visits.size();) {
        const std::int32_t node = visits[begin].node;
        group.clear();
        std::size_t end = begin;
        for (; end < visits.size() && visits[end].node == node; ++end) {
            group.push_back(static_cast<std::int32_t>(first_row + visits[end].row));
        }
        scorer.score(
            node, group.data(), static_cast<std::int64_t>(group.size()),
            [&](std::int64_t i, const float* margins) { receive(visits[begin + at(i)], margins); });
        context.check();
        begin = end;
    }
}

/// Writes the best labels of a row of X, given by the logarithms of their scores.
inline void write_top(Scored* items, std::int32_t size, std::int64_t row, TopLabels& out) {
    for (std::int32_t i = 0; i < size; ++i) items[i].score = std::exp(items[i].score);
    // Different sums may have one exponential: the order is that of what is given.
    std::sort(items, items + size, better);
    for (std::int32_t i = 0; i < size; ++i) {
        const std::size_t place = at(row * out.top_k + i);
        out.labels[place] = items[i].id;
        out.scores[place] = items[i].score;
    }
}

}  // namespace defrag
