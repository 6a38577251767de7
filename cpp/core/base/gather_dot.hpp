// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace defrag {

/// Dot product of a sparse and a dense vector: sum of values[i] * dense[indices[i]]. Sixteen
/// partial sums, entry i going to number i % 16, are added pairwise in a fixed order, so that
/// scalar and vector versions are bit-identical.
using GatherDot = float (*)(const std::int32_t* indices, const float* values, std::int64_t size,
                            const float* dense);

/// Runs on any processor.
float gather_dot_portable(const std::int32_t* indices, const float* values, std::int64_t size,
                          const float* dense);

/// Returns the fastest version that this processor supports.
GatherDot select_gather_dot();

}  // namespace defrag
