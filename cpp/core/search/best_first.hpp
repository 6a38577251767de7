// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/search/beam_search.hpp"

namespace defrag {

struct BestFirstOptions {
    Loss loss = Loss::kLogistic;
    std::int64_t k = 5;
    Instructions instructions = Instructions::kBest;
};

/// Finds the exact best labels of every row by uniform-cost search: open nodes are expanded in
/// order of decreasing score, and a row is finished when the best open node scores below the worst
/// of the k labels found. This is exact because no label scores above a node on its path. Scores
/// and their order are those of beam_search without a discount. The rows of a batch advance
/// together, a few nodes at a time, so that rows at the same node share its weights; the result of
/// a row does not depend on the other rows.
/// Time is not bounded by a beam: in the worst case every node is expanded. Memory: as beam_search,
/// with the open nodes of the rows of a batch in place of beams.
TopLabels best_first_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                            const BestFirstOptions& options);

}  // namespace defrag
