// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bindings/arrays.hpp"
#include "core/beam_search.hpp"

namespace defrag {

/// A label tree as Python passes it: first_child, n_children, begin, end, order.
using TreeArrays = std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>,
                              Array<std::int32_t>, Array<std::int32_t>>;

/// Its weights: feature_ptr, features, entry_ptr, outputs, weights, bias_ptr, bias.
using WeightArrays =
    std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>, Array<std::uint16_t>,
               Array<float>, Array<std::int64_t>, Array<float>>;

inline LabelTreeView tree_view(const TreeArrays& tree) {
    const auto& [first_child, n_children, begin, end, order] = tree;
    const std::size_t n_nodes = first_child.size();
    require(n_children.size() == n_nodes && begin.size() == n_nodes && end.size() == n_nodes,
            "the arrays of a tree must have one entry per node");
    return {static_cast<std::int64_t>(first_child.size()),
            first_child.data(),
            n_children.data(),
            begin.data(),
            end.data(),
            order.data(),
            static_cast<std::int64_t>(order.size())};
}

inline LabelTreeModel make_model(const TreeArrays& tree, const WeightArrays& weights,
                                 std::int64_t n_features, const FeatureIndex* index) {
    const auto& [feature_ptr, features, entry_ptr, outputs, values, bias_ptr, bias] = weights;
    const auto fit = [](const Array<std::int64_t>& pointers, std::size_t n, std::size_t n_items) {
        return pointers.size() == n + 1 && pointers.data()[n] == static_cast<std::int64_t>(n_items);
    };
    const std::size_t n_nodes = std::get<0>(tree).size();
    require(fit(feature_ptr, n_nodes, features.size()) &&
                fit(entry_ptr, features.size(), outputs.size()) &&
                outputs.size() == values.size() && fit(bias_ptr, n_nodes, bias.size()),
            "the arrays of a tree's weights must fit each other and the tree");
    LabelTreeModel model;
    model.tree = tree_view(tree);
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

inline nb::tuple to_numpy(TopLabels&& top) {
    return nb::make_tuple(to_numpy(std::move(top.labels)), to_numpy(std::move(top.scores)));
}

}  // namespace defrag
