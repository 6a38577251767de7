// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/arrays.hpp"
#include "core/label_tree/paths.hpp"
#include "core/solver/losses.hpp"

namespace defrag {

/// Maps the margins on a path to a score: exp(sum of c L(m)), where L(m) is -max(0, 1 - m)^power or
/// -log(1 + e^-m), and c is the product of the discounts of the following steps.
struct PathScore {
    Loss loss = Loss::kSquaredHinge;
    double discount = 1.0;
    int power = 2;
};

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
/// product with the slope of L between the bias and the margin (integrated gradients along a
/// straight line) and with the logarithmic mean of the score and the base. Throws the exceptions of
/// label_paths. O(steps * entries) time in addition to label_paths; 20 bytes per step and entry.
PathParts path_parts(const LabelTreeModel& model, const std::int32_t* places, std::int64_t n_places,
                     const PathRow& row, const PathScore& rule);

}  // namespace defrag
