// SPDX-License-Identifier: BSD-3-Clause
// The score of a label in a tree, and its explanation: the margins on the path from the root become
// log scores, which add up. Beam search and best-first search score edges one level at a time;
// `explain_paths` takes the score of a label apart again.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/ranking.hpp"
#include "core/label_tree/paths.hpp"
#include "core/solver/losses.hpp"

namespace defrag {

/// The rule by which the margin of an edge (an output of a node, which stands for a child or a
/// label) changes the score. The score of a label is exp(sum of c gain(margin)) over its path,
/// where c is the product of the discounts of the following edges.
struct EdgeScore {
    Loss loss = Loss::kSquaredHinge;
    /// Factor applied to the log score of the parent (Bonsai: 0.98).
    double discount = 1.0;
    /// The same where the edges lead to labels. It is below 1 if leaves were trained on negatives
    /// from elsewhere: their classifiers know part of what those above them say.
    double leaf_discount = 1.0;
    /// Exponent of the hinge: 2, as in training, or 3, which penalises labels just short of the
    /// margin less and others more.
    int power = 2;

    /// -max(0, 1 - margin)^power, or -log(1 + e^-margin). `score_margins` (rank_kernels.hpp) is the
    /// same for vectors of hinges.
    template <class Real>
    Real gain(Real margin) const {
        if (loss == Loss::kLogistic) {
            return static_cast<Real>(-softplus(-static_cast<double>(margin)));
        }
        const Real slack = std::max(Real{0}, Real{1} - margin);  // 0 if the margin is NaN
        return -(power == 3 ? slack * slack * slack : slack * slack);
    }

    /// Returns the log score that the edges of a node with log score `score` start from. None of
    /// them exceeds it, even after rounding; pruning relies on this.
    float start(float score, bool leaf) const {
        return score * static_cast<float>(leaf ? leaf_discount : discount);
    }

    /// Returns the log score of an edge of a node with log score `parent`. Weights of a model file
    /// are finite, but their sums need not be: NaN, which has no order, becomes the lowest score.
    float below(float parent, float margin, bool leaf) const {
        const float score = start(parent, leaf) + gain(margin);
        return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
    }
};

/// Writes the best labels of a row, given their log scores.
inline void write_labels(Scored* items, std::int64_t size, std::int64_t row, TopLabels& out) {
    for (std::int64_t i = 0; i < size; ++i) items[i].score = std::exp(items[i].score);
    out.write(row, items, size);
}

/// A row: its features in ascending order, their values, and their values in the L2-normalised row.
struct PathRow {
    const std::int32_t* features = nullptr;
    const float* values = nullptr;
    const float* units = nullptr;
    std::int64_t n_entries = 0;
};

/// The decomposed scores of some labels of a tree. `step_ptr`, `nodes` and `outputs` are those of
/// LabelPaths. A step multiplies the score by `step_scores`, or by `step_bases` for a row without
/// features. `contributions` has one row per step, and those of a path add up to the score minus
/// the base. `without` has one row per path: the scores without each entry, with the rest of the
/// row L2-normalised.
struct PathParts {
    Vector<std::int64_t> step_ptr;
    Vector<std::int32_t> nodes;
    Vector<std::int32_t> outputs;
    Vector<double> step_scores;
    Vector<double> step_bases;
    Vector<double> contributions;
    Vector<double> scores;
    Vector<double> bases;
    Vector<double> without;
};

/// Decomposes the scores of the labels at `places`. The summand w x of a margin contributes its
/// product with the slope of the gain between the bias and the margin (integrated gradients along a
/// straight line) and with the logarithmic mean of the score and the base. Throws the exceptions of
/// label_paths. O(steps * entries) time in addition to label_paths; 20 bytes per step and entry.
PathParts explain_paths(const LabelTreeModel& model, const std::int32_t* places,
                        std::int64_t n_places, const PathRow& row, const EdgeScore& rule);

}  // namespace defrag
