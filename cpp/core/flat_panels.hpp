// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/flat_search.hpp"

namespace defrag {

/// Whether rows are ranked faster by panels than one after the other: they are where rows
/// are many and the features that they meet have weights for a good part of the outputs.
template <class Output>
bool panels_pay(const FlatModel<Output>& model, const CsrView& X, std::int64_t k);

/// Ranks rows as flat_search does, with the same bits: the weights of a few outputs at a
/// time are laid out as the solver's panels, zeros included, which stay in the cache while
/// all rows are scored with them, SIMD across outputs. Memory: 256 bytes per feature, and a
/// copy of some thousand rows.
template <class Output>
void rank_by_panels(const Context& context, const FlatModel<Output>& model, const CsrView& X,
                    TopLabels& result);

}  // namespace defrag
