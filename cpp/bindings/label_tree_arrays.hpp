// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bindings/attributes.hpp"
#include "core/beam_search.hpp"

namespace defrag {

/// A label tree as Python keeps it.
struct TreeArrays : Attributes {
    static constexpr auto kType = nb::detail::const_name("defrag._native.LabelTreeArrays");
    static constexpr const char* kNames[] = {"first_child", "n_children", "begin", "end", "order"};
    std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>,
               Array<std::int32_t>>
        arrays;

    LabelTreeView view() const {
        const auto& [first_child, n_children, begin, end, order] = arrays;
        const std::size_t n_nodes = first_child.size();
        require(n_children.size() == n_nodes && begin.size() == n_nodes && end.size() == n_nodes,
                "the arrays of a tree must have one entry per node");
        return {n_items(first_child), first_child.data(), n_children.data(), begin.data(),
                end.data(),           order.data(),       n_items(order)};
    }
};

/// The weights of its nodes.
struct TreeWeightArrays : Attributes {
    static constexpr auto kType = nb::detail::const_name("defrag._native.LabelTreeWeights");
    static constexpr const char* kNames[] = {"feature_ptr", "features", "entry_ptr", "outputs",
                                             "weights",     "bias_ptr", "bias"};
    std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>, Array<std::uint16_t>,
               Array<float>, Array<std::int64_t>, Array<float>>
        arrays;
};

inline LabelTreeModel make_model(const TreeArrays& tree, const TreeWeightArrays& weights,
                                 std::int64_t n_features, const FeatureIndex* index) {
    const auto& [feature_ptr, features, entry_ptr, outputs, values, bias_ptr, bias] =
        weights.arrays;
    LabelTreeModel model;
    model.tree = tree.view();
    const auto fit = [](const Array<std::int64_t>& pointers, std::int64_t n, std::int64_t n_all) {
        return n_items(pointers) == n + 1 && pointers.data()[n] == n_all;
    };
    const std::int64_t n_nodes = model.tree.n_nodes;
    require(fit(feature_ptr, n_nodes, n_items(features)) &&
                fit(entry_ptr, n_items(features), n_items(outputs)) &&
                outputs.size() == values.size() && fit(bias_ptr, n_nodes, n_items(bias)),
            "the arrays of a tree's weights must fit each other and the tree");
    model.n_features = n_features;
    model.feature_ptr = feature_ptr.data();
    model.features = features.data();
    model.entry_ptr = entry_ptr.data();
    model.outputs = outputs.data();
    model.weights = values.data();
    model.bias_ptr = bias_ptr.data();
    model.bias = bias.data();
    model.index = index;
    return model;
}

}  // namespace defrag
