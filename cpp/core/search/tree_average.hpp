// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/search/beam_search.hpp"

namespace defrag {

/// A tree of an ensemble.
struct Member {
    LabelTreeModel model;
    const std::int32_t* places = nullptr;  // of the labels in the order of the tree, or -1
    std::int64_t n_places = 0;             // labels from this on are not in the tree
};

/// Number of labels that a tree of an ensemble ranks for the best k of all.
constexpr std::int64_t n_ranked(std::int64_t k) { return k + 5; }

/// Searches several trees for the same rows, and returns the best of the labels that at least one
/// tree has among its best `n_ranked(k)`, by the mean of the scores in all trees. A label counts as
/// 0 in a tree whose beam does not contain its leaf. Scores that a tree has not listed are computed
/// for labels that could be among the best k with them (Fagin, Lotem and Naor, 2003: the threshold
/// algorithm); they are few. Memory: that of beam_search for each tree.
TopLabels search_trees(const Context& context, const Vector<Member>& members, const CsrView& X,
                       const BeamOptions& options);

}  // namespace defrag
