// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/arrays.hpp"
#include "core/base/csr.hpp"
#include "core/base/random.hpp"

namespace defrag {

/// A count sketch of a random subset of the items, selected by its key: an item is either dropped
/// or hashed to one of `n_buckets` buckets with a sign. About `n_kept` of 65536 items are kept.
struct ItemHash {
    std::uint64_t key = 0;
    std::int64_t n_buckets = 1;
    std::uint32_t n_kept = 65536;

    /// Calls visit(bucket, sign) if the item is kept.
    template <class Visit>
    void apply(std::int32_t item, Visit visit) const {
        constexpr std::uint64_t kFactor = 0xD1342543DE82EF95ULL;
        std::uint64_t state = key + static_cast<std::uint64_t>(item) * kFactor;
        const std::uint64_t bits = splitmix64(state);
        if ((bits >> 1 & 0xFFFFU) >= n_kept) return;
        const std::uint64_t bucket = (bits >> 32) * static_cast<std::uint64_t>(n_buckets) >> 32;
        visit(static_cast<std::int32_t>(bucket), (bits & 1) != 0 ? 1.0F : -1.0F);
    }
};

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
