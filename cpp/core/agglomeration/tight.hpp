// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// Returns the leader of every item: one that is so like it that both may share a weight, or
/// itself. Items come forward in `order`, the strongest first. One becomes a follower of a leader
/// that it has at least the cosine `min_cosine` with, and a leader if none is found. `items` are
/// unit rows; rows without entries are alone.
///
/// The samples of an item are its coordinates that come first in a random order of coordinates, so
/// that two items share them about as often as they share coordinates. The few leaders with the
/// most shared samples are compared, exactly: a leader may be missed, but no item follows one
/// that is less like it than `min_cosine`.
/// O(entries) time, and a few integers per item; threads find the samples, one the leaders.
Vector<std::int32_t> tight_leaders(const Context& context, const CsrView& items,
                                   const std::int32_t* order, double min_cosine,
                                   std::uint64_t seed);

}  // namespace defrag
