// SPDX-License-Identifier: BSD-3-Clause
#include "core/neighbours/dense_rows.hpp"

#define DEFRAG_KERNEL_FILE "core/neighbours/dense_kernel.hpp"
#include "core/base/kernel_versions.hpp"

namespace defrag {
namespace {

constexpr Versions<AddLines> kAddLines = DEFRAG_VERSIONS(add_lines);
constexpr Versions<DotRows> kDotRows = DEFRAG_VERSIONS(dot_rows);
constexpr Versions<ScorePanel> kScorePanel = DEFRAG_VERSIONS(score_panel);

}  // namespace

AddLines select_add_lines(Instructions instructions) { return select(kAddLines, instructions); }
DotRows select_dot_rows(Instructions instructions) { return select(kDotRows, instructions); }
ScorePanel select_score_panel(Instructions instructions) {
    return select(kScorePanel, instructions);
}

}  // namespace defrag
