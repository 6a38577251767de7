// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/beam_search.hpp"

namespace defrag {

struct BestFirstOptions {
    Loss loss = Loss::kLogistic;
    std::int64_t k = 5;
    Instructions instructions = Instructions::kBest;
};

/// The exact best labels of every row, by uniform-cost search: the open nodes of the highest
/// scores are next, and a row is done when the best of them is below the worst of the k
/// labels found. No label can score above its path, so nothing better is left. Scores and
/// their order are those of beam_search without a discount. The rows of a batch take their
/// steps together, a few nodes at a time, so that those at one node share its weights; a row
/// does not see the others. Time is not bounded by a beam: in the worst case every node is opened.
/// Memory: as beam_search, with the open nodes of the rows of a batch in place of beams.
TopLabels best_first_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                            const BestFirstOptions& options);

}  // namespace defrag
