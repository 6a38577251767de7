// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/arrays.hpp"
#include "core/csr.hpp"
#include "core/feature_hash.hpp"

namespace defrag {

/// Trees over points, over memory that somebody else owns. The nodes of a tree are consecutive,
/// the root first, and breadth first: the children of node v, if it has any, are the n_children[v]
/// nodes from first_child[v] on. An inner node has the entries [entry_ptr[v], entry_ptr[v + 1]) of
/// slots and weights. Without `children` these are a separator: slots rise, there are two
/// children, and a point goes to the first where bias[v] plus the product is not negative. With
/// `children`, every child has a centroid, whose entries name it: (slot, child) rise, there is no
/// bias, and a point goes to the child with the largest product, of equal ones the first. Slot s
/// stands for features[s]; where features are hashed, slots are buckets. A leaf has the label
/// distribution [leaf_ptr[v], leaf_ptr[v + 1]) of outputs, which rise, and values. Output o stands
/// for labels[o]. Features and labels rise.
template <class Slot, class Output>
struct ForestView {
    std::int64_t n_trees = 0;
    std::int64_t n_features = 0;  // that are used
    std::int64_t n_labels = 0;    // likewise
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
    /// Where features are hashed: the key of each tree, and what all hashes share.
    const std::uint64_t* hash_keys = nullptr;
    std::int64_t n_buckets = 0;
    std::uint32_t n_kept = 0;

    bool is_leaf(std::int64_t node) const { return n_children[node] == 0; }
    bool is_hashed() const { return hash_keys != nullptr; }
    ItemHash hash(std::int64_t tree) const { return {hash_keys[tree], n_buckets, n_kept}; }
};

/// Children of a node at most, where entries name them.
constexpr std::int64_t kMostChildren = 256;

/// The same arrays, owned.
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

/// Numbers the ids below `range` that occur, in rising order; ids become numbers. Returns the ids.
Vector<std::int32_t> renumber(Vector<std::int32_t>& ids, std::int64_t range);

}  // namespace defrag
