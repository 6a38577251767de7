// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/arrays.hpp"
#include "core/base/csr.hpp"
#include "core/forest/feature_hash.hpp"

namespace defrag {

/// A non-owning view of trees over points. The nodes of a tree are consecutive and in breadth-first
/// order, starting with the root: the children of node v, if any, are the n_children[v] nodes from
/// first_child[v] on. An inner node has the entries [entry_ptr[v], entry_ptr[v + 1]) of slots and
/// weights. Without `children` they are a linear separator: slots are ascending, there are two
/// children, and a point goes to the first if bias[v] plus the dot product is not negative. With
/// `children`, every child has a centroid and each entry names its child: (slot, child) pairs are
/// ascending, there is no bias, and a point goes to the child with the largest dot product, ties
/// going to the first. Slot s represents features[s]; if features are hashed, slots are buckets. A
/// leaf has the label distribution [leaf_ptr[v], leaf_ptr[v + 1]) of outputs, in ascending order,
/// and values. Output o represents labels[o]. Features and labels are ascending.
template <class Slot, class Output>
struct ForestView {
    std::int64_t n_trees = 0;
    std::int64_t n_features = 0;  // only those in use
    std::int64_t n_labels = 0;    // only those in use
    const std::int64_t* tree_ptr = nullptr;
    const std::int32_t* first_child = nullptr;
    const std::int32_t* n_children = nullptr;
    const std::int64_t* entry_ptr = nullptr;
    const std::int32_t* features = nullptr;
    const Slot* slots = nullptr;
    const std::uint8_t* children = nullptr;
    const float* weights = nullptr;
    const float* bias = nullptr;
    const std::int64_t* leaf_ptr = nullptr;
    const std::int32_t* labels = nullptr;
    const Output* outputs = nullptr;
    const float* values = nullptr;
    /// If features are hashed: the key of each tree, and the parameters that all hashes share.
    const std::uint64_t* hash_keys = nullptr;
    std::int64_t n_buckets = 0;
    std::uint32_t n_kept = 0;

    bool is_leaf(std::int64_t node) const { return n_children[node] == 0; }
    bool is_hashed() const { return hash_keys != nullptr; }
    ItemHash hash(std::int64_t tree) const { return {hash_keys[tree], n_buckets, n_kept}; }
};

/// Maximum number of children of a node with centroids.
constexpr std::int64_t kMostChildren = 256;

/// The owning counterpart of ForestView.
struct Forest {
    Vector<std::int64_t> tree_ptr{0};
    Vector<std::int32_t> first_child;
    Vector<std::int32_t> n_children;
    Vector<std::int64_t> entry_ptr{0};
    Vector<std::int32_t> features;
    Vector<std::int32_t> slots;
    Vector<std::uint8_t> children;
    Vector<float> weights;
    Vector<float> bias;
    Vector<std::int64_t> leaf_ptr{0};
    Vector<std::int32_t> labels;
    Vector<std::int32_t> outputs;
    Vector<float> values;
};

/// Replaces the ids, all below `range`, by their ranks among the distinct ids, which are returned
/// in ascending order.
Vector<std::int32_t> renumber(Vector<std::int32_t>& ids, std::int64_t range);

}  // namespace defrag
