// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/forest/forest.hpp"
#include "core/forest/growth.hpp"
#include "core/forest/label_sides.hpp"
#include "core/forest/sparse_logistic.hpp"

namespace defrag {

struct FastxmlOptions {
    GrowthOptions growth;
    LabelSidesOptions sides;
    SparseLogisticOptions solver;
    /// Weight of the losses relative to the L1 penalty. The cost of a point is this divided by the
    /// share of the node's points that are on its side.
    double cost = 1.0;
};

/// Trains FastXML (Prabhu and Varma, KDD 2014) or the trees of PfastreXML (Jain, Prabhu and Varma,
/// KDD 2016). A node starts with random sides, then alternates between ranking the labels of each
/// side by their weighted counts and assigning each point to the ranking with the higher gain. A
/// sparse logistic separator is trained on these sides, and its sign routes the points. Rows of X
/// are used without normalisation; label_weights are 1 or inverse propensities.
/// O(non-zeros * passes) per level of a tree. Memory: the forest and, per thread, a copy of the
/// points of one node.
Forest train_fastxml(const Context& context, const CsrView& X, const CsrView& Y,
                     const float* label_weights, const FastxmlOptions& options);

}  // namespace defrag
