// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace defrag {

/// Product of a sparse vector with a dense one: sum of values[i] * dense[indices[i]]. Sixteen
/// partial sums, entry i in number i % 16, are added up by halves: the same bits whether the
/// processor gathers sixteen numbers at once or one after the other.
using GatherDot = float (*)(const std::int32_t* indices, const float* values, std::int64_t size,
                            const float* dense);

/// Any processor.
float gather_dot_portable(const std::int32_t* indices, const float* values, std::int64_t size,
                          const float* dense);

/// The fastest version that this processor has.
GatherDot select_gather_dot();

}  // namespace defrag
