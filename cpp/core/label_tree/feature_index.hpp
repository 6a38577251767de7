// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"

namespace defrag {

/// Finds the features of a row among those of a node, for single rows: there, most look-ups miss
/// the cache, and latency is determined by the number of dependent loads and of mispredicted
/// branches. A node has a bitmap of its features, at most eight bits per feature: bit b stands for
/// the features [b << shift, (b + 1) << shift). Each word of the bitmap also holds the position of
/// its first feature, so that the position of a feature is this plus the number of ones before its
/// bit. If shift is 0 this is exact, otherwise it is where the search among the features of the
/// word begins. At most two bytes per feature, so that processes that share a memory-mapped model
/// need little private memory.
class FeatureIndex {
 public:
    /// A feature of the row that is in the node, and its position among the features of the tree.
    struct Hit {
        std::int64_t feature;
        std::int64_t position;  // in the row
    };

    /// Node v has the features [feature_ptr[v], feature_ptr[v + 1]), in ascending order. Throws
    /// std::invalid_argument if they are not.
    FeatureIndex(const std::int64_t* feature_ptr, const std::int32_t* features,
                 std::int64_t n_nodes);

    std::int64_t n_nodes() const { return tables_.size() - 1; }
    std::int64_t n_features() const { return tables_[n_nodes()].first_feature; }

    /// Writes the hits of a row, in its order, to `hits`, which has room for n_indices items, and
    /// returns their number. `features` is the array that the index was built from.
    std::int64_t find(std::int64_t node, const std::int32_t* features, const std::int32_t* indices,
                      std::int64_t n_indices, Hit* hits) const;

 private:
    struct Word {
        std::uint32_t bits;
        std::uint32_t first;  // position of the first feature, among those of the node
    };
    struct Table {
        std::int64_t first_feature;
        std::int64_t first_word;
        std::uint32_t n_words;  // without the empty one at the end
        std::int32_t shift;
    };

    void fill(const Table& table, const std::int32_t* features, std::int64_t n_features);

    Vector<Table> tables_;  // one per node, and an end marker
    Vector<Word> words_;    // by node: the bitmap, and an empty word
};

}  // namespace defrag
