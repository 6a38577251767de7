// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/forest.hpp"
#include "core/parallel.hpp"
#include "core/ranking.hpp"

namespace defrag {

/// The best labels of every row by the mean of the distributions of the leaves that it reaches,
/// one per tree. Ranked by score, then by label. A row does not see which others are in the batch.
/// O(weights on the paths + entries of the leaves) per row. Memory, per thread: the slots and the
/// labels that are used, 4 bytes each, and a leaf per tree for a block of rows.
template <class Slot, class Output>
TopLabels forest_search(const Context& context, const ForestView<Slot, Output>& forest,
                        const CsrView& X, std::int64_t k);

}  // namespace defrag
