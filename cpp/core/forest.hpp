// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/arrays.hpp"
#include "core/csr.hpp"

namespace defrag {

/// Trees over points, over memory that somebody else owns. The nodes of a tree are consecutive,
/// the root first, and breadth first: the children of node v, if it has any, are the n_children[v]
/// nodes from first_child[v] on. An inner node has a row of weights per child, whose largest
/// margin says where a point goes; or one row, if it has two children, and the point goes to the
/// first where the margin is not negative. These are rows [row_ptr[v], row_ptr[v + 1]). Row r has
/// the entries [entry_ptr[r], entry_ptr[r + 1]) of slots, which rise, and weights, and bias[r].
/// Slot s stands for features[s]. A leaf has the label distribution
/// [leaf_ptr[v], leaf_ptr[v + 1]) of outputs, which rise, and values. Output o stands for
/// labels[o]. Features and labels rise.
template <class Slot, class Output>
struct ForestView {
    std::int64_t n_trees = 0;
    std::int64_t n_features = 0;  // that are used
    std::int64_t n_labels = 0;    // likewise
    const std::int64_t* tree_ptr = nullptr;
    const std::int32_t* first_child = nullptr;
    const std::int32_t* n_children = nullptr;
    const std::int64_t* row_ptr = nullptr;
    const std::int64_t* entry_ptr = nullptr;
    const std::int32_t* features = nullptr;
    const Slot* slots = nullptr;
    const float* weights = nullptr;
    const float* bias = nullptr;
    const std::int64_t* leaf_ptr = nullptr;
    const std::int32_t* labels = nullptr;
    const Output* outputs = nullptr;
    const float* values = nullptr;

    bool is_leaf(std::int64_t node) const { return n_children[node] == 0; }
};

/// The same arrays, owned.
struct Forest {
    Vector<std::int64_t> tree_ptr{0};
    Vector<std::int32_t> first_child;
    Vector<std::int32_t> n_children;
    Vector<std::int64_t> row_ptr{0};
    Vector<std::int64_t> entry_ptr{0};
    Vector<std::int32_t> features;
    Vector<std::int32_t> slots;
    Vector<float> weights;
    Vector<float> bias;
    Vector<std::int64_t> leaf_ptr{0};
    Vector<std::int32_t> labels;
    Vector<std::int32_t> outputs;
    Vector<float> values;
};

/// Numbers the ids below `range` that occur, in rising order; ids become numbers. Returns the ids.
Vector<std::int32_t> renumber(Vector<std::int32_t>& ids, std::int64_t range);

}  // namespace defrag
