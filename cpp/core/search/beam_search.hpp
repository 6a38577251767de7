// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/instructions.hpp"
#include "core/base/parallel.hpp"
#include "core/base/ranking.hpp"
#include "core/label_tree/model.hpp"
#include "core/search/scores.hpp"

namespace defrag {

struct BeamOptions {
    EdgeScore score;
    std::int64_t beam_size = 10;
    std::int64_t k = 5;
    Instructions instructions = Instructions::kBest;
};

/// Descends level by level with the best `beam_size` nodes of every row; a leaf reached early stays
/// in the beam. The score of a label is exp(sum of -loss(margin)) over its path. Results are
/// ordered by score, then by label. The result of a row does not depend on the other rows: nodes
/// visited by many rows are unpacked into a dense panel, others are searched, and both add in the
/// same order.
/// O(weights of the row's features in the nodes of its beam) per row. Memory: the beams of a batch,
/// for each of their nodes the best outputs (8 bytes each, at most the beam or k), and, per thread
/// and once for all threads, the weights of one node as a panel and four bytes per feature.
TopLabels beam_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                      const BeamOptions& options);

/// Returns, for every leaf, the rows that have it in their beam after the last level: the points
/// that training takes as negatives. Only inner nodes are evaluated, and k is not used. Memory: 8
/// bytes per row and node of a beam.
PointLists reached_leaves(const Context& context, const LabelTreeModel& model, const CsrView& X,
                          const BeamOptions& options);

}  // namespace defrag
