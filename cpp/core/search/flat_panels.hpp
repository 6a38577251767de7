// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/search/flat_search.hpp"

namespace defrag {

/// Returns whether panels rank these rows faster than one row at a time, which is the case for many
/// rows whose features have weights for a large share of the outputs.
template <class Output>
bool panels_pay(const FlatModel<Output>& model, const CsrView& X, std::int64_t k);

/// Ranks rows with results bit-identical to flat_search: the weights of a few outputs at a time are
/// unpacked into the solver's panels, including zeros, and stay in the cache while all rows are
/// scored, SIMD across outputs. Memory: per thread, 256 bytes per feature (of all threads about a
/// gigabyte, or those of one thread) and the best outputs of some thousand rows; and a copy of
/// these rows.
template <class Output>
void rank_by_panels(const Context& context, const FlatModel<Output>& model, const CsrView& X,
                    TopLabels& result);

}  // namespace defrag
