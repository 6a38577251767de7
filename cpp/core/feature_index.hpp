// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"

namespace defrag {

/// Finds the features of a row among those of a node, for rows that come alone: then every
/// look-up is a walk through memory that is not in the cache, and what counts is how few
/// steps depend on each other. A bitmap of hashes, four to eight bits per feature, drops most
/// features that the node does not know. The features of a node rise, and are cut into buckets
/// of equal width by their high bits, one per four to eight features: two steps lead to the
/// others, and the look-ups of a row overtake each other. At most two bytes per feature, so that
/// processes that share a mapped model need little memory of their own.
class FeatureIndex {
 public:
    /// A feature of the row that the node knows, and its place among the features of the tree.
    struct Hit {
        std::int64_t feature;
        std::int64_t position;  // in the row
    };

    /// Node v has the features [feature_ptr[v], feature_ptr[v + 1]), which rise. Throws
    /// std::invalid_argument if they do not.
    FeatureIndex(const std::int64_t* feature_ptr, const std::int32_t* features,
                 std::int64_t n_nodes);

    std::int64_t n_nodes() const { return tables_.size() - 1; }
    std::int64_t n_features() const { return tables_[n_nodes()].first_feature; }

    /// Writes the hits of a row in its order into `hits`, which has room for n_indices, and
    /// returns how many there are. `features` are those that the index was built from.
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

    Vector<Table> tables_;          // one per node, and the end
    Vector<std::uint32_t> starts_;  // by node: where each bucket begins, and the end of the last
    Vector<std::uint64_t> words_;   // by node: the bitmap
};

}  // namespace defrag
