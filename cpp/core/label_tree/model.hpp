// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/label_tree/entries.hpp"
#include "core/label_tree/feature_index.hpp"
#include "core/label_tree/shape.hpp"

namespace defrag {

/// A non-owning view of a trained label tree; see LabelTreeWeights.
struct LabelTreeModel {
    LabelTreeShape tree;
    std::int64_t n_features = 0;
    const std::int64_t* feature_ptr = nullptr;
    const std::int32_t* features = nullptr;
    TreeEntries entries;
    const std::int64_t* bias_ptr = nullptr;
    const float* bias = nullptr;
    const FeatureIndex* index = nullptr;  // optional: speeds up single rows and small batches
};

}  // namespace defrag
