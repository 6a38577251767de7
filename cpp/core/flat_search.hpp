// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/parallel.hpp"
#include "core/ranking.hpp"

namespace defrag {

/// The classifiers of all labels side by side, over memory that somebody else owns: for every
/// feature the outputs that have a weight for it, in order. Output o stands for labels[o];
/// labels rise, so that outputs and labels have one order.
template <class Output>
struct FlatModel {
    std::int64_t n_features = 0;
    std::int64_t n_outputs = 0;
    const std::int64_t* feature_ptr = nullptr;
    const Output* outputs = nullptr;
    const float* weights = nullptr;
    const float* bias = nullptr;
    const std::int32_t* labels = nullptr;
    const std::int32_t* by_bias = nullptr;  // all outputs by falling bias, then rising
};

/// The best labels of every row by margin w.x + bias, exactly, with the scores
/// 1 / (1 + e^-margin). Ranked by score, then by label.
///
/// A row that meets few weights looks only at the outputs that it touches: all others have
/// the margin `bias`, and the best of them are the first of `by_bias`. Other rows add into
/// all margins. Many rows that meet many weights are ranked together (flat_panels.hpp). All
/// add one feature after the other, so that no bit tells them apart.
/// Memory: outputs * 8 bytes per thread, or that of the panels.
template <class Output>
TopLabels flat_search(const Context& context, const FlatModel<Output>& model, const CsrView& X,
                      std::int64_t k);

}  // namespace defrag
