// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/feature_index.hpp"
#include "core/label_tree.hpp"
#include "core/losses.hpp"
#include "core/parallel.hpp"
#include "core/ranking.hpp"
#include "core/tree_entries.hpp"

namespace defrag {

/// A trained label tree over memory that somebody else owns; see LabelTreeWeights.
struct LabelTreeModel {
    LabelTreeView tree;
    std::int64_t n_features = 0;
    const std::int64_t* feature_ptr = nullptr;
    const std::int32_t* features = nullptr;
    TreeEntries entries;
    const std::int64_t* bias_ptr = nullptr;
    const float* bias = nullptr;
    const FeatureIndex* index = nullptr;  // optional: for rows that come alone or in few
};

struct BeamOptions {
    Loss loss = Loss::kSquaredHinge;
    std::int64_t beam_size = 10;
    std::int64_t k = 5;
    /// The score of a parent counts this much in that of its children (Bonsai: 0.98).
    float discount = 1.0F;
    /// How a hinge counts in a score: squared, as in training, or cubed, which is milder on
    /// labels just short of the margin and harsher on the others.
    int power = 2;
    Instructions instructions = Instructions::kBest;
};

/// Descends level by level with the best `beam_size` nodes of every row; a leaf that is
/// reached early stays in the beam. The score of a label is exp(sum of -loss(margin)) over
/// its path. Ranked by score, then by label. A row does not see which other rows are in
/// the batch: nodes with many rows are unpacked into a dense panel, others are searched,
/// and both add in the same order. O(weights of the nodes in the beam that a row meets) per row.
/// Memory: the beams of a batch and, per thread, the weights of one node as a panel and four bytes
/// per feature.
TopLabels beam_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                      const BeamOptions& options);

/// The mean of the scores of several trees for the same rows; a label that a tree does not
/// give counts as 0 there.
TopLabels average_trees(const Context& context, const Vector<TopLabels>& trees, std::int64_t n_rows,
                        std::int64_t k);

}  // namespace defrag
