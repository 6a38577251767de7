// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/rank_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/solver/compact_rows.hpp"

#define DEFRAG_KERNEL_FILE "core/search/rank_kernel.hpp"
#include "core/base/kernel_versions.hpp"

namespace defrag {
namespace {

constexpr Versions<ScoreMargins> kScoreMargins = DEFRAG_VERSIONS(score_margins);
constexpr Versions<FindBest> kFindBest = DEFRAG_VERSIONS(find_best);

}  // namespace

ScoreMargins select_score_margins(Instructions instructions) {
    return select(kScoreMargins, instructions);
}

FindBest select_find_best(Instructions instructions) { return select(kFindBest, instructions); }

}  // namespace defrag
