// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/forest.hpp"
#include "core/parallel.hpp"
#include "core/ranking.hpp"

namespace defrag {

/// The best labels of every row by the mean of the distributions of the leaves that it reaches,
/// one per tree. Ranked by score, then by label. A row does not see which others are in the batch.
/// O(weights on the paths + entries of the leaves) per row. Memory, per thread: the slots and the
/// labels that are used, 4 bytes each, and a leaf per tree for a block of rows.
template <class Slot, class Output>
TopLabels forest_search(const Context& context, const ForestView<Slot, Output>& forest,
                        const CsrView& X, std::int64_t k);

/// What ranks the labels of the leaves anew (PfastreXML, Jain, Prabhu and Varma, KDD 2016): the
/// prototype m of output o has the entries [prototype_ptr[o], prototype_ptr[o + 1]) of slots, which
/// rise and stand for `features`, and values; `norms` are |m|^2. With t the score of the leaves,
/// a label has the score t^alpha (1 + exp(gamma |m - x|^2))^(alpha - 1), |x| = 1.
template <class Slot>
struct PrototypesView {
    double alpha = 0.8;
    double gamma = 30.0;
    std::int64_t n_features = 0;
    const std::int32_t* features = nullptr;
    const std::int64_t* prototype_ptr = nullptr;
    const Slot* slots = nullptr;
    const float* values = nullptr;
    const float* norms = nullptr;
};

/// The same, ranked by these scores. Labels are looked at in the order of a bound of their score,
/// which is that of a prototype in the direction of x, until the bound of the next one is below
/// the best k: the frequent ones, whose prototypes are long and far from every point, are
/// mostly left out.
template <class Slot, class Output, class PrototypeSlot>
TopLabels forest_search(const Context& context, const ForestView<Slot, Output>& forest,
                        const PrototypesView<PrototypeSlot>& prototypes, const CsrView& X,
                        std::int64_t k);

}  // namespace defrag
