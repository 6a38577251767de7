// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// How a node is cut in two.
enum class SplitRule {
    kKMeans,  // balanced spherical 2-means: items go to the nearer of two unit centres
    kNdcg,    // balanced nDCG: items go to the ranking of coordinates that serves them better
};

/// The shape of a balanced binary tree: how many items each node holds. It follows from
/// the number of items alone and is fixed before any item is looked at, so that nodes can
/// be numbered (breadth first) and processed in any order.
struct TreeShape {
    std::int64_t n_nodes = 0;
    const std::int32_t* first_child = nullptr;  // -1: leaf; the second child is the next node
    const std::int64_t* begin = nullptr;        // node's items are order[begin .. end)
    const std::int64_t* end = nullptr;
};

struct SplitOptions {
    SplitRule rule = SplitRule::kKMeans;
    double tolerance = 0.0;  // stop when the objective rises by less than this share of itself
    int max_iterations = 0;
    std::uint64_t seed = 0;
    // Two positions per node that start its split; nullptr: random ones.
    const std::int64_t* starts = nullptr;
};

/// An order of items that keeps together what belongs together: by the smallest hash among the
/// items that share a coordinate with them, then by id. A cut through equal scores, which is
/// where most items are in the first round, follows the order of items; in this one it never
/// parts copies of an item. The order of coordinates does not matter; zero rows come last.
Vector<std::int32_t> min_hash_order(const Context& context, const CsrView& items,
                                    std::uint64_t seed);

/// Items by leaf, and what became of each split.
struct TreeResult {
    Vector<std::int32_t> order;     // ascending inside a leaf
    Vector<double> objective;       // per node: mean similarity to the own side; 0 at leaves
    Vector<std::int32_t> n_rounds;  // per node
};

/// Deals the rows of `items` to the leaves of a tree by balanced splits from the root down.
///
/// Rows must have length at most 1 (k-means) or be scaled to ideal DCG 1 (nDCG); zero rows
/// score 0 and are placed by balance. O(nnz) per level and round. All sums over items are
/// 64-bit integers, which add up to the same value in any order: the result does not depend
/// on the number of threads, and updating a centre for the few items that moved is exact.
TreeResult split_items(const Context& context, const CsrView& items, const TreeShape& shape,
                       const SplitOptions& options);

}  // namespace defrag
