// SPDX-License-Identifier: BSD-3-Clause
#include "core/solver/pass.hpp"

#include <cstring>

#define DEFRAG_KERNEL_FILE "core/solver/kernel.hpp"
#include "core/base/kernel_versions.hpp"

namespace defrag {
namespace {

constexpr Versions<RunPass> kHingePass = DEFRAG_VERSIONS(run_pass<false, false>);
constexpr Versions<RunPass> kLogisticPass = DEFRAG_VERSIONS(run_pass<true, false>);
constexpr Versions<RunPass> kSparsePass = DEFRAG_VERSIONS(run_pass<false, true>);
constexpr Versions<FindRows> kFindRows = DEFRAG_VERSIONS(find_rows);
constexpr Versions<ScorePanels> kScorePanels = DEFRAG_VERSIONS(score_panels);
constexpr Versions<FindLarge> kFindLarge = DEFRAG_VERSIONS(find_large);

}  // namespace

RunPass select_pass(Loss loss, Instructions instructions) {
    return select(loss == Loss::kLogistic ? kLogisticPass : kHingePass, instructions);
}

RunPass select_sparse_pass(Instructions instructions) { return select(kSparsePass, instructions); }

FindRows select_find_rows(Instructions instructions) { return select(kFindRows, instructions); }

ScorePanels select_score_panels(Instructions instructions) {
    return select(kScorePanels, instructions);
}

FindLarge select_find_large(Instructions instructions) { return select(kFindLarge, instructions); }

}  // namespace defrag
