// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"

namespace defrag {

/// Finds the features of a row among those of a node, for rows that come alone: then every
/// look-up is a walk through memory that is not in the cache, and what counts is how few
/// steps depend on each other. A hash table with linear probing whose occupancy is a
/// bitmap, eight bits per feature: a feature that the node does not know mostly meets a
/// zero bit, and the ones before a set bit are the place of its slot in a dense array. The
/// slot leads straight to the weights. About 14 bytes per feature.
class FeatureIndex {
 public:
    /// A feature of the row that the node knows: entries [first, first + count).
    struct Hit {
        std::int64_t first;
        std::uint32_t count;
        std::uint32_t position;  // in the row
    };

    /// Node v has the features [feature_ptr[v], feature_ptr[v + 1]), each once, and feature
    /// number f of that array the entries [entry_ptr[f], entry_ptr[f + 1]).
    FeatureIndex(const std::int64_t* feature_ptr, const std::int32_t* features,
                 const std::int64_t* entry_ptr, std::int64_t n_nodes);

    /// Writes the hits of a row in its order into `hits`, which has room for n_indices, and
    /// returns how many there are.
    std::int64_t find(std::int64_t node, const std::int32_t* indices, std::int64_t n_indices,
                      Hit* hits) const;

 private:
    struct Word {
        std::uint64_t bits;
        std::uint32_t rank;  // ones in the words before
    };
    struct Slot {
        std::int32_t feature;
        std::uint32_t first;  // entry, counted from the first of the node
        std::uint32_t count;
    };
    struct Table {
        std::int64_t first_word;
        std::int64_t first_slot;
        std::int64_t first_entry;
        std::uint32_t mask;
        std::uint32_t shift;
    };

    void build(const Table& table, const std::int32_t* features, const std::int64_t* entry_ptr,
               std::int64_t n_features);

    Vector<Table> tables_;
    Vector<Word> words_;
    Vector<Slot> slots_;
};

}  // namespace defrag
