// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/base/ranking.hpp"
#include "core/label_tree/stored_weights.hpp"

namespace defrag {

/// A non-owning view of the classifiers of all labels, feature-major: for every feature the outputs
/// with a weight for it, in ascending order. Output o represents labels[o]; labels are ascending,
/// so outputs and labels have the same order. Weights have the type used in training or that of a
/// model file.
template <class Output>
struct FlatModel {
    std::int64_t n_features = 0;
    std::int64_t n_outputs = 0;
    const std::int64_t* feature_ptr = nullptr;
    const Output* outputs = nullptr;
    StoredWeights weights;
    const float* bias = nullptr;
    const std::int32_t* labels = nullptr;
    const std::int32_t* by_bias = nullptr;  // all outputs by descending bias, then ascending

    /// Calls visit(output, weight) for the entries [first, last) of a feature, in order, until it
    /// returns false; returns the first entry that was not consumed.
    template <class Visit>
    std::int64_t for_each_while(std::int64_t feature, std::int64_t first, std::int64_t last,
                                Visit visit) const {
        return weights.of_run(feature, [&](const auto& own, float scale) {
            while (first < last && visit(std::int64_t{outputs[first]}, own.get(first, scale))) {
                ++first;
            }
            return first;
        });
    }

    /// Calls visit(output, weight) for all entries of a feature, in order.
    template <class Visit>
    void for_each(std::int64_t feature, Visit visit) const {
        for_each_while(feature, feature_ptr[feature], feature_ptr[feature + 1],
                       [&](std::int64_t output, float weight) {
                           visit(output, weight);
                           return true;
                       });
    }
};

/// Finds the exact best labels of every row by margin w.x + bias, with the scores 1 / (1 +
/// e^-margin), ordered by score, then by label.
///
/// A row with few weights examines only the outputs that it touches: all others have the margin
/// `bias`, and the best of them come first in `by_bias`. Other rows add into all margins. Many rows
/// with many weights are ranked together (flat_panels.hpp). All three add features in the same
/// order, so their results are bit-identical.
/// Memory: 8 bytes per output and thread, or that of the panels.
template <class Output>
TopLabels flat_search(const Context& context, const FlatModel<Output>& model, const CsrView& X,
                      std::int64_t k);

}  // namespace defrag
