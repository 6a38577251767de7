// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/arrays.hpp"
#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/forest/forest.hpp"
#include "core/forest/growth.hpp"
#include "core/forest/sparse_logistic.hpp"

namespace defrag {

struct LabelSidesOptions {
    /// Divide the gains of a point by its ideal DCG, which gives nDCG (FastXML); PfastreXML uses
    /// the plain DCG.
    bool normalized = true;
    /// Maximum number of rounds, and the increase of the mean gain that justifies another round.
    int max_rounds = 50;
    double tolerance = 1e-6;
};

/// Partitions points into two sides by their labels. Starts from random sides, then alternates
/// between ranking the labels of each side by their sums of gains and moving each point to the side
/// whose ranking gives it the higher DCG; a point that gains nothing stays. The gain of a label is
/// its weight, scaled according to the options. Neither step decreases the mean gain.
/// Per round, O(labels of the points) and a sort of the labels that occur. One thread; memory:
/// O(all labels), reused.
class LabelSides {
 public:
    LabelSides(const CsrView& Y, const float* label_weights, const LabelSidesOptions& options);

    /// Sets side[i] to 0 or 1 for each point; `key` determines the random start. Returns false if
    /// all points are on one side, or all have the same labels.
    bool find(const Vector<std::int32_t>& points, std::uint64_t key, Vector<std::uint8_t>& side);

 private:
    void copy_labels(const Vector<std::int32_t>& points);
    double rank_labels(const Vector<std::uint8_t>& side);
    void choose_sides(Vector<std::uint8_t>& side) const;

    const CsrView& Y_;
    const float* label_weights_;
    LabelSidesOptions options_;
    Vector<std::int32_t> slots_;   // slot of each label; -1 between calls
    Vector<std::int32_t> seen_;    // labels that occur, by slot
    Vector<std::int64_t> starts_;  // point i has entries [starts[i], starts[i + 1])
    Vector<std::int32_t> labels_;  // slots
    Vector<float> gains_;
    Vector<double> sums_[2];  // by side and slot
    Vector<float> direction_;
    Vector<std::int32_t> ranking_;
};

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
