// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace defrag {

/// The instruction set that the vector code uses. All give the same bits: lanes are independent
/// problems, no operation crosses them and nothing is contracted, so the width of a vector does
/// not show in a result. Tests force each version and compare.
enum class Instructions { kBest = 0, kBaseline = 1, kAvx2 = 2, kAvx512 = 3 };

/// Whether this processor can run a version.
bool can_run(Instructions instructions);

/// The version that runs: the widest one for kBest, otherwise the one asked for. Throws
/// std::invalid_argument when this processor cannot run it.
Instructions resolve(Instructions instructions);

}  // namespace defrag
