// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "core/solver/solver.hpp"

namespace defrag {
namespace {

/// Merges the blocks of all labels: features in ascending order, labels in ascending order within
/// each.
Csr join_blocks(const CompactRows& rows, const Vector<BlockWeights>& blocks,
                std::int64_t n_features, std::int64_t n_labels) {
    Csr result;
    result.n_cols = n_labels;
    result.indptr.assign(n_features + 1, 0);
    for (const BlockWeights& block : blocks) {
        for (const std::int32_t slot : block.slots) ++result.indptr[rows.feature(slot) + 1];
    }
    for (std::int64_t f = 0; f < n_features; ++f) result.indptr[f + 1] += result.indptr[f];
    Vector<std::int64_t> next(result.indptr.begin(), result.indptr.end() - 1);
    result.indices.resize(result.indptr.back());
    result.data.resize(result.indptr.back());
    for (std::int64_t b = 0; b < blocks.size(); ++b) {
        for (std::int64_t e = 0; e < blocks[b].slots.size(); ++e) {
            const std::int64_t place = next[rows.feature(blocks[b].slots[e])]++;
            result.indices[place] = static_cast<std::int32_t>(b * kLanes + blocks[b].lanes[e]);
            result.data[place] = blocks[b].weights[e];
        }
    }
    return result;
}

}  // namespace

FlatSolution solve_blocks(const Context& context, const CsrView& X, const CsrView& positives,
                          const SolverOptions& options, std::int64_t first_block,
                          const float* weights) {
    CompactRows::check_width(X);
    const std::int64_t n_labels = positives.n_rows;
    context.expect(n_labels);
    FlatSolution solution;
    solution.bias.resize(n_labels);
    solution.reports.resize(n_labels);
    CompactRows rows;
    Vector<std::int32_t> slots(X.n_cols);
    rows.assign(X, nullptr, X.n_rows, options.bias, slots);
    rows.weigh(weights);
    PerWorker<BlockSolver> solvers(context, [] { return BlockSolver(); });
    Vector<BlockWeights> blocks((n_labels + kLanes - 1) / kLanes);
    parallel_for(
        context, n_labels, kLanes, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
            BlockSolver& solver = solvers[worker];
            BlockWeights& block = blocks[begin / kLanes];
            solver.start(rows, end - begin);
            for (std::int64_t label = begin; label < end; ++label) {
                for (auto p = positives.begin(label); p < positives.end(label); ++p) {
                    solver.mark(label - begin, positives.indices[p]);
                }
            }
            solver.solve(context, options,
                         static_cast<std::uint64_t>(first_block + begin / kLanes));
            solver.collect(options, block);
            std::copy(block.bias, block.bias + (end - begin), solution.bias.begin() + begin);
            std::copy(solver.reports(), solver.reports() + (end - begin),
                      solution.reports.begin() + begin);
            context.advance(end - begin);
        });
    solution.weights = join_blocks(rows, blocks, X.n_cols, n_labels);
    return solution;
}

}  // namespace defrag
