// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/agglomeration/representations.hpp"
#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// Returns the leader of every column: one that is so like it that both may share a weight, or
/// itself. Columns come forward by falling energy, with `statistics` of column_statistics. One
/// becomes a follower of an earlier leader that it has at least the cosine `min_cosine` with, on
/// unit rows, and a leader if none is found. Columns without entries are alone.
///
/// Columns are judged by their entries in the first rows of a random order, which are all entries
/// of a rare one: they are compared with the few leaders with which they share the most of the very
/// first ones. A pass over all rows then computes the cosines of those that would follow, and
/// whoever is refused may try another leader once. A leader may be missed, but no column follows
/// one that is less like it than `min_cosine`. O(entries) time, a few numbers per column and
/// thread; threads compute the cosines, one the rest.
Vector<std::int32_t> tight_leaders(const Context& context, const CsrView& matrix,
                                   const ColumnStatistics& statistics, double min_cosine,
                                   std::uint64_t seed);

}  // namespace defrag
