// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include "core/base/arrays.hpp"
#include "core/label_tree/stored_weights.hpp"

namespace defrag {

/// A non-owning view of the outputs and weights of the features of a label tree, as returned by
/// training or as stored in a model file. A file has the number of entries of each feature instead
/// of offsets, which takes a quarter of the memory; every eighth offset is kept beside it.
class TreeEntries {
 public:
    static constexpr std::int64_t kSizesPerStart = 8;

    std::int64_t n_features = 0;
    /// Entries [entry_ptr[f], entry_ptr[f + 1]) belong to feature f.
    const std::int64_t* entry_ptr = nullptr;
    /// Used if entry_ptr is null: one of the two, and the offset of every feature 8 i.
    const std::uint16_t* short_sizes = nullptr;
    const std::uint32_t* long_sizes = nullptr;
    const std::int64_t* starts = nullptr;
    /// Exactly one of the two is set.
    const std::uint16_t* outputs = nullptr;
    const std::uint8_t* narrow_outputs = nullptr;
    StoredWeights weights;

    /// Returns the offset of the entries of a feature. O(1).
    std::int64_t begin(std::int64_t feature) const {
        if (entry_ptr != nullptr) return entry_ptr[feature];
        const std::int64_t place = starts[feature / kSizesPerStart];
        return place + (short_sizes != nullptr ? sum_before(short_sizes, feature)
                                               : sum_before(long_sizes, feature));
    }

    /// Returns the number of entries of a feature.
    std::int64_t size(std::int64_t feature) const {
        if (entry_ptr != nullptr) return entry_ptr[feature + 1] - entry_ptr[feature];
        return stored_size(feature);
    }

    std::int64_t output(std::int64_t entry) const {
        return outputs != nullptr ? outputs[entry] : narrow_outputs[entry];
    }

    /// Calls run(outputs, weights, scale) with the outputs and weights of a node as they are
    /// stored; the weight of entry e is weights.get(e, scale). Loops belong inside `run`, so that
    /// the types are examined once.
    template <class Run>
    void with_types(std::int64_t node, Run run) const {
        weights.of_run(node, [&](const auto& own_weights, float scale) {
            if (outputs != nullptr) {
                run(outputs, own_weights, scale);
            } else {
                run(narrow_outputs, own_weights, scale);
            }
        });
    }

    /// Calls visit(output, weight) for the entries [first, last) of a node, in order.
    template <class Visit>
    void for_each(std::int64_t node, std::int64_t first, std::int64_t last, Visit visit) const {
        with_types(node, [&](const auto* own_outputs, const auto& own_weights, float scale) {
            for (std::int64_t e = first; e < last; ++e) {
                visit(static_cast<std::int64_t>(own_outputs[e]), own_weights.get(e, scale));
            }
        });
    }

    /// Prefetches an entry.
    void prefetch(std::int64_t entry) const {
        if (outputs != nullptr) {
            __builtin_prefetch(outputs + entry);
        } else {
            __builtin_prefetch(narrow_outputs + entry);
        }
        weights.prefetch(entry);
    }

    /// Prefetches the data that `begin` reads for a feature.
    void prefetch_place(std::int64_t feature) const {
        if (entry_ptr != nullptr) {
            __builtin_prefetch(entry_ptr + feature);
            return;
        }
        __builtin_prefetch(starts + feature / kSizesPerStart);
        if (short_sizes != nullptr) {
            __builtin_prefetch(short_sizes + feature);
        } else {
            __builtin_prefetch(long_sizes + feature);
        }
    }

 private:
    template <class Size>
    std::int64_t sum_before(const Size* sizes, std::int64_t feature) const {
        // Eight sizes of 16 bits add up to less than 2^32, and shorter sums are faster.
        std::conditional_t<sizeof(Size) == 2, std::uint32_t, std::int64_t> sum = 0;
        const std::int64_t first = feature - feature % kSizesPerStart;
        if (first + kSizesPerStart > n_features) {
            for (std::int64_t f = first; f < feature; ++f) sum += sizes[f];
            return sum;
        }
        // As many steps for every feature: the end of a shorter loop would be unpredictable.
        const auto n_before = static_cast<std::uint32_t>(feature - first);
        for (std::uint32_t i = 0; i < kSizesPerStart; ++i) {
            sum += static_cast<std::uint32_t>(i < n_before) * sizes[first + i];
        }
        return sum;
    }

    std::int64_t stored_size(std::int64_t feature) const {
        return short_sizes != nullptr ? short_sizes[feature]
                                      : static_cast<std::int64_t>(long_sizes[feature]);
    }
};

/// The result of checking stored entries; positions are -1 if there is no error.
struct EntriesReport {
    Vector<std::int64_t> starts;   // offset of feature 8 i
    std::int64_t not_rising = -1;  // the first entry that is not above the previous one
    std::int64_t too_large = -1;   // the first entry that is not an output of its node
};

/// Checks every entry once: outputs must increase within a feature and be below the number of
/// outputs of their node, widths[node]. Throws std::invalid_argument unless the sizes add up to at
/// most n_entries. Memory: one number per eight features.
template <class Size, class Output>
EntriesReport inspect_entries(const std::int64_t* feature_ptr, const std::int64_t* widths,
                              std::int64_t n_nodes, const Size* sizes, std::int64_t n_features,
                              const Output* outputs, std::int64_t n_entries);

}  // namespace defrag
