// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// The criterion by which a node is split in two.
enum class SplitRule {
    kKMeans,  // balanced spherical 2-means: items go to the nearer of two unit centres
    kNdcg,    // balanced nDCG: items go to the ranking of coordinates that suits them better
};

/// A non-owning view of the shape of a balanced binary tree: the number of items of each node. It
/// depends only on the number of items, so that nodes can be numbered (breadth first) in advance
/// and processed in any order.
struct TreeShape {
    std::int64_t n_nodes = 0;
    const std::int32_t* first_child = nullptr;  // -1: leaf; the second child is the next node
    const std::int64_t* begin = nullptr;        // node's items are order[begin .. end)
    const std::int64_t* end = nullptr;
};

struct SplitOptions {
    SplitRule rule = SplitRule::kKMeans;
    double tolerance = 0.0;  // stop when the objective increases by less than this share of itself
    int max_iterations = 0;
    std::uint64_t seed = 0;
    // Two positions per node that start its split; nullptr: random ones.
    const std::int64_t* starts = nullptr;
};

/// Orders items so that similar ones are adjacent: by the smallest hash among the items that share
/// a coordinate with them, then by id. Ties of scores, which most items have in the first round,
/// are cut in item order; in this order the cut never separates copies of an item. The result does
/// not depend on the order of coordinates; zero rows come last.
Vector<std::int32_t> min_hash_order(const Context& context, const CsrView& items,
                                    std::uint64_t seed);

/// Items by leaf, and statistics of each split.
struct TreeResult {
    Vector<std::int32_t> order;     // ascending inside a leaf
    Vector<double> objective;       // per node: mean similarity to the chosen side; 0 at leaves
    Vector<std::int32_t> n_rounds;  // per node
};

/// Distributes the rows of `items` over the leaves of a tree by balanced splits from the root down.
///
/// Rows must have length at most 1 (k-means) or be scaled to ideal DCG 1 (nDCG); zero rows score 0
/// and are placed by balance. O(nnz) per level and round. All sums over items are 64-bit integers,
/// whose value does not depend on the order of addition: the result does not depend on the number
/// of threads, and updating a centre for the few items that moved is exact.
TreeResult split_items(const Context& context, const CsrView& items, const TreeShape& shape,
                       const SplitOptions& options);

}  // namespace defrag
