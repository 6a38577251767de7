// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/instructions.hpp"

namespace defrag {

/// Writes the scores of n margins below a node, parent - max(0, 1 - margin)^power; `power` is 2 or
/// 3. Margins and scores are 64-byte aligned and padded to a multiple of kLanes.
using ScoreMargins = void (*)(const float* margins, std::int64_t n, float parent, int power,
                              float* scores);
ScoreMargins select_score_margins(Instructions instructions);

/// Writes the positions of those of n scores that are at least `bound`, in ascending order, without
/// most of those that are not among the k best; returns their number. Scores are 64-byte aligned
/// and padded to a multiple of kLanes, as are the positions; the padding is overwritten.
using FindBest = std::int64_t (*)(float* scores, std::int64_t n, std::int64_t k, float bound,
                                  std::int32_t* positions);
FindBest select_find_best(Instructions instructions);

}  // namespace defrag
