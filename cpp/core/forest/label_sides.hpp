// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include "core/base/arrays.hpp"

#include "core/base/csr.hpp"

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

}  // namespace defrag
