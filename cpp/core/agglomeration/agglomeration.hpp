// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/agglomeration/representations.hpp"
#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// How the members of a group that are present in a row are reduced to one value.
enum class Pooling {
    kSum,          // their sum: linear, as the theorem requires
    kMeanNonzero,  // their mean over those present: "average" in the reference program
};

/// Replaces every feature by its group: groups[j] is the group of feature j, or -1 to drop it.
/// Column k of the result is multiplied by scale[k] unless `scale` is null; a mean over all members
/// of a group is such a scale. Columns are sorted within rows.
/// O(non-zeros) time in one pass, O(n_groups) scratch per thread; nothing is densified. Throws
/// std::invalid_argument if a group is not below n_groups or a sum is not finite.
Csr agglomerate(const Context& context, const CsrView& matrix, const std::int32_t* groups,
                std::int64_t n_groups, Pooling pooling, const float* scale);

/// Returns column_statistics of agglomerate without its result, rows divided by the lengths they
/// have before. Groups must be below n_groups. O(non-zeros) time, on one thread.
ColumnStatistics group_statistics(const Context& context, const CsrView& matrix,
                                  const std::int32_t* groups, std::int64_t n_groups,
                                  Pooling pooling);

}  // namespace defrag
