// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// How the members of a group that are present in a row become one value.
enum class Pooling {
    kSum,          // their sum: linear, what the theorem speaks of
    kMeanNonzero,  // their mean, over those present in the row: the official program's "average"
};

/// Replaces every feature by its group: groups[j] is the group of feature j, or -1 to drop it.
/// Column k of the result is multiplied by scale[k], if there is a scale; a mean over all
/// members of a group is such a scale. Columns of the result are sorted in every row.
/// One pass over the non-zeros; scratch of O(n_groups) per thread; never dense. Throws
/// std::invalid_argument when a group is not below n_groups or a value is not finite.
Csr agglomerate(const Context& context, const CsrView& matrix, const std::int32_t* groups,
                std::int64_t n_groups, Pooling pooling, const float* scale);

}  // namespace defrag
