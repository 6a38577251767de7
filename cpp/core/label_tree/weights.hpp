// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/bitset.hpp"
#include "core/label_tree/shape.hpp"
#include "core/solver/solver.hpp"

namespace defrag {

/// The classifiers of all nodes, feature-major: node v uses the features
/// features[feature_ptr[v]..feature_ptr[v + 1]), in ascending order; position f of that array has
/// the entries [entry_ptr[f], entry_ptr[f + 1]), one per output with a weight.
struct LabelTreeWeights {
    Vector<std::int64_t> feature_ptr{0};
    Vector<std::int32_t> features;
    Vector<std::int64_t> entry_ptr{0};
    Vector<std::uint16_t> outputs;
    Vector<float> weights;
    Vector<std::int64_t> bias_ptr{0};  // node v has bias[bias_ptr[v]..bias_ptr[v + 1])
    Vector<float> bias;
};

/// The classifiers of one node, or of some of its blocks.
struct NodeWeights {
    Vector<std::int32_t> features;
    Vector<std::int32_t> sizes;  // entries per feature
    Vector<std::uint16_t> outputs;
    Vector<float> weights;
    Vector<float> bias;
};

/// Joins the blocks of nodes. Reuses its memory; one object per thread.
class BlockJoiner {
 public:
    explicit BlockJoiner(std::int64_t n_features) : used_(n_features), slot_of_(n_features) {}

    /// Joins the blocks of a node, the first of which begins with output `first`; `rows` are those
    /// that they were trained on. Features and, within each, outputs are in ascending order.
    NodeWeights join(const CompactRows& rows, const Vector<BlockWeights>& blocks,
                     std::int64_t first, std::int64_t n_outputs);

 private:
    OrderedSet used_;               // features with a weight
    Vector<std::int32_t> slot_of_;  // of the features that are used
    Vector<std::int64_t> next_;     // number of entries of a slot, then the position of the next
};

/// Joins nodes, which are cleared.
LabelTreeWeights join_nodes(const Context& context, Vector<NodeWeights>& nodes);

}  // namespace defrag
