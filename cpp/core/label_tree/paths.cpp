// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/paths.hpp"

#include <algorithm>
#include <stdexcept>

namespace defrag {
namespace {

void check(bool holds) {
    if (!holds) throw std::invalid_argument("a label must be in the tree, at the end of a path");
}

/// Throws unless [pointers[i], pointers[i + 1]) is a range of the pointers[n] items.
void check_range(const std::int64_t* pointers, std::int64_t i, std::int64_t n) {
    if (pointers[i] < 0 || pointers[i] > pointers[i + 1] || pointers[i + 1] > pointers[n]) {
        throw std::invalid_argument("the pointers of a tree's weights must not decrease");
    }
}

/// Returns the output of a node that contains a place: the last one that does not begin after it.
std::int64_t output_of(const LabelTreeShape& tree, std::int64_t node, std::int32_t place) {
    if (tree.is_leaf(node)) return place - tree.begin[node];
    const std::int64_t first = tree.first_child[node];
    const std::int64_t n_children = tree.n_children[node];
    check(n_children > 0 && first > node && first + n_children <= tree.n_nodes);
    const std::int32_t* begin = tree.begin + first;
    return std::upper_bound(begin, begin + n_children, place) - begin - 1;
}

/// Returns the entry of an output in [first, last), or -1.
std::int64_t find_output(const TreeEntries& entries, std::int64_t first, std::int64_t last,
                         std::int64_t output) {
    const std::int64_t end = last;
    while (first < last) {
        const std::int64_t middle = first + (last - first) / 2;
        if (entries.output(middle) < output) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first < end && entries.output(first) == output ? first : -1;
}

/// Writes the weights of an output of a node; a feature without a weight gets 0.
void write_weights(const LabelTreeModel& model, std::int64_t node, std::int64_t output,
                   const std::int32_t* features, std::int64_t n_features, float* weights) {
    check_range(model.feature_ptr, node, model.tree.n_nodes);
    const std::int64_t n_entries = model.entries.begin(model.feature_ptr[model.tree.n_nodes]);
    const std::int32_t* place = model.features + model.feature_ptr[node];
    const std::int32_t* last = model.features + model.feature_ptr[node + 1];
    for (std::int64_t j = 0; j < n_features && place != last; ++j) {
        place = std::lower_bound(place, last, features[j]);
        if (place == last || *place != features[j]) continue;
        const std::int64_t f = place - model.features;
        const std::int64_t begin = model.entries.begin(f);
        const std::int64_t size = model.entries.size(f);
        if (begin < 0 || size < 0 || begin > n_entries - size) {
            throw std::invalid_argument("the pointers of a tree's weights must not decrease");
        }
        const std::int64_t entry = find_output(model.entries, begin, begin + size, output);
        if (entry < 0) continue;
        model.entries.for_each(node, entry, entry + 1,
                               [&](std::int64_t, float weight) { weights[j] = weight; });
    }
}

}  // namespace

LabelPaths label_paths(const LabelTreeModel& model, const std::int32_t* places,
                       std::int64_t n_places, const std::int32_t* features,
                       std::int64_t n_features) {
    const LabelTreeShape& tree = model.tree;
    LabelPaths paths;
    for (std::int64_t i = 0; i < n_places; ++i) {
        check(tree.n_nodes > 0 && places[i] >= 0 && places[i] < tree.n_order);
        std::int64_t node = 0;
        while (true) {
            const std::int64_t output = output_of(tree, node, places[i]);
            check_range(model.bias_ptr, node, tree.n_nodes);
            const std::int64_t bias = model.bias_ptr[node] + output;
            check(output >= 0 && output < tree.n_outputs(node) && bias < model.bias_ptr[node + 1]);
            paths.nodes.push_back(static_cast<std::int32_t>(node));
            paths.outputs.push_back(static_cast<std::int32_t>(output));
            paths.bias.push_back(model.bias[bias]);
            if (tree.is_leaf(node)) break;
            node = tree.first_child[node] + output;
        }
        paths.step_ptr.push_back(paths.nodes.size());
    }
    paths.weights.assign(checked_product(paths.nodes.size(), n_features), 0.0F);
    for (std::int64_t s = 0; s < paths.nodes.size(); ++s) {
        write_weights(model, paths.nodes[s], paths.outputs[s], features, n_features,
                      paths.weights.data() + s * n_features);
    }
    return paths;
}

}  // namespace defrag
