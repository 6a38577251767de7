// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"

namespace defrag {

/// Finds the features of a row among those of a node, for single rows: there, every look-up misses
/// the cache, and latency is determined by the number of dependent loads. A bitmap of hashes, four
/// to eight bits per feature, rejects most features that are not in the node. The ascending
/// features of a node are divided into buckets of equal width by their high bits, one per four to
/// eight features; two dependent loads find each of the remaining features, and the look-ups of a
/// row overlap. At most two bytes per feature, so that processes that share a memory-mapped model
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
    struct Table {
        std::int64_t first_feature;
        std::int64_t first_start;
        std::int64_t first_word;
        std::uint32_t n_buckets;
        std::int32_t bucket_shift;
        std::int32_t hash_shift;
    };

    Vector<Table> tables_;          // one per node, and an end marker
    Vector<std::uint32_t> starts_;  // by node: offset of each bucket, and the end of the last
    Vector<std::uint64_t> words_;   // by node: the bitmap
};

}  // namespace defrag
