// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/arrays.hpp"
#include "core/label_tree/model.hpp"

namespace defrag {

/// The classifiers on the paths from the root of a label tree to some labels. Label i has the steps
/// [step_ptr[i], step_ptr[i + 1]), from the root down; step s is the classifier `outputs[s]` of
/// node `nodes[s]`, with `bias[s]` and a row of `weights`, one number per feature.
struct LabelPaths {
    Vector<std::int64_t> step_ptr{0};
    Vector<std::int32_t> nodes;
    Vector<std::int32_t> outputs;
    Vector<float> bias;
    Vector<float> weights;
};

/// Collects the weights of `features`, in ascending order, on the paths to the labels at `places`
/// of the order of the tree. Throws std::invalid_argument if a place is not in the tree or the
/// arrays of the model are inconsistent along its path. O(steps * features * log(weights of a
/// node)) time; four bytes per step and feature.
LabelPaths label_paths(const LabelTreeModel& model, const std::int32_t* places,
                       std::int64_t n_places, const std::int32_t* features,
                       std::int64_t n_features);

}  // namespace defrag
