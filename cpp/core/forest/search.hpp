// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/base/ranking.hpp"
#include "core/forest/forest.hpp"

namespace defrag {

/// Prototypes that re-rank the labels of the leaves (PfastreXML, Jain, Prabhu and Varma, KDD 2016).
/// The prototype m of output o has the entries [prototype_ptr[o], prototype_ptr[o + 1]) of slots,
/// in ascending order, and values; norms[o] is |m|^2. With t the mean of the leaves times
/// label_weights[o], which is at most 1, a label is ranked by
///   log s = alpha log t - (1 - alpha) log(1 + exp(gamma / 2 |m - x|^2)),   |x| = 1,
/// rounded down to a multiple of 2^-18 and at least -63. Its score is the largest mean of the
/// leaves times s, divided by the s of the best label.
template <class Slot>
struct PrototypesView {
    double alpha = 0.8;
    double gamma = 30.0;
    const std::int64_t* prototype_ptr = nullptr;
    const Slot* slots = nullptr;
    const float* values = nullptr;
    const float* norms = nullptr;
    const float* label_weights = nullptr;
};

/// Finds the best labels of every row by the mean of the distributions of the leaves that it
/// reaches, one per tree, re-ranked if there are prototypes. Results are ordered by score, then by
/// label, and the result of a row does not depend on the other rows.
/// O(weights on the paths + entries of the leaves) per row. Prototypes are compared in descending
/// order of an upper bound of s, reached by a prototype in the direction of x, until the next bound
/// is below the best k: most prototypes of frequent labels, which are short and far from every
/// point, are skipped. Memory, per thread: 4 bytes per slot and per label in use.
template <class Slot, class Output>
TopLabels forest_search(const Context& context, const ForestView<Slot, Output>& forest,
                        const PrototypesView<Slot>* prototypes, const CsrView& X, std::int64_t k);

}  // namespace defrag
