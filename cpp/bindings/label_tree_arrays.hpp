// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bindings/attributes.hpp"
#include "core/label_tree/model.hpp"

namespace defrag {

/// The arrays of a label tree.
struct LabelTreeArrays : Attributes {
    static constexpr auto kType = nb::detail::const_name("defrag._native.LabelTreeArrays");
    static constexpr const char* kNames[] = {"first_child", "n_children", "begin", "end", "order"};
    std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>,
               Array<std::int32_t>>
        arrays;

    LabelTreeShape view() const {
        const auto& [first_child, n_children, begin, end, order] = arrays;
        const std::size_t n_nodes = first_child.size();
        require(n_children.size() == n_nodes && begin.size() == n_nodes && end.size() == n_nodes,
                "the arrays of a tree must have one entry per node");
        return {n_items(first_child), first_child.data(), n_children.data(), begin.data(),
                end.data(),           order.data(),       n_items(order)};
    }
};

/// The weights of the nodes: `LabelTreeWeights`, as returned by training, or `StoredTreeWeights`,
/// the narrower types of a model file.
struct LabelTreeWeightArrays : Attributes {
    static constexpr auto kType = nb::detail::const_name(
        "defrag._native.LabelTreeWeights | defrag._native.StoredTreeWeights");
    static constexpr const char* kNames[] = {"feature_ptr", "features", "bias_ptr", "bias"};
    std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>, Array<float>> arrays;
    AnyArray outputs;
    AnyArray weights;
    std::optional<Array<std::int64_t>> entry_ptr;
    // Replace entry_ptr in stored weights:
    AnyArray sizes;
    Array<std::int64_t> starts;
    std::optional<Array<float>> scales;

    bool load_more(nb::handle source, nb::detail::cleanup_list* cleanup) {
        const auto load = [&](const char* name, auto& out) {
            return load_array(source.attr(name), 0, cleanup, out);
        };
        if (!load("outputs", outputs) || !load("weights", weights)) return false;
        if (!nb::hasattr(source, "starts")) return load("entry_ptr", entry_ptr);
        return load("sizes", sizes) && load("starts", starts) && load("scales", scales);
    }

    /// Returns a view of the entries for this many nodes and features; throws if sizes do not
    /// match.
    TreeEntries entries(std::int64_t n_nodes, std::int64_t n_features) const {
        TreeEntries view;
        view.n_features = n_features;
        view.outputs = items_as<std::uint16_t>(outputs);
        view.narrow_outputs = items_as<std::uint8_t>(outputs);
        require(view.outputs != nullptr || view.narrow_outputs != nullptr,
                "outputs must be of uint8 or uint16");
        view.weights = stored_weights(weights, scales);
        bool fit = outputs.size() == weights.size();
        if (entry_ptr) {
            fit = fit && n_items(*entry_ptr) == n_features + 1;
            view.entry_ptr = entry_ptr->data();
        } else {
            view.short_sizes = items_as<std::uint16_t>(sizes);
            view.long_sizes = items_as<std::uint32_t>(sizes);
            require(view.short_sizes != nullptr || view.long_sizes != nullptr,
                    "sizes must be of uint16 or uint32");
            fit = fit && n_items(sizes) == n_features &&
                  n_items(starts) == n_features / TreeEntries::kSizesPerStart + 1;
            view.starts = starts.data();
        }
        if (view.weights.bytes.values != nullptr) {
            fit = fit && scales && n_items(*scales) == n_nodes;
        }
        require(fit && view.begin(n_features) == n_items(outputs),
                "the arrays of a tree's weights must fit each other and the tree");
        return view;
    }
};

inline LabelTreeModel label_tree_model(const LabelTreeArrays& tree,
                                       const LabelTreeWeightArrays& weights,
                                       std::int64_t n_features, const FeatureIndex* index) {
    const auto& [feature_ptr, features, bias_ptr, bias] = weights.arrays;
    const LabelTreeShape shape = tree.view();
    const auto fit = [](const Array<std::int64_t>& pointers, std::int64_t n, std::int64_t n_all) {
        return n_items(pointers) == n + 1 && pointers.data()[n] == n_all;
    };
    const std::int64_t n_nodes = shape.n_nodes;
    require(fit(feature_ptr, n_nodes, n_items(features)) && fit(bias_ptr, n_nodes, n_items(bias)),
            "the arrays of a tree's weights must fit each other and the tree");
    require(index == nullptr ||
                (index->n_nodes() == n_nodes && index->n_features() == n_items(features)),
            "the index must be that of the weights");
    return {shape,
            n_features,
            feature_ptr.data(),
            features.data(),
            weights.entries(n_nodes, n_items(features)),
            bias_ptr.data(),
            bias.data(),
            index};
}

}  // namespace defrag
