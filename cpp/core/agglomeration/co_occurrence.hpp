// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// A non-owning view of a clustering of features, laid out for its blocks: group k has the members
/// members[member_ptr[k]..member_ptr[k + 1]), in ascending order, and feature j is member slots[j]
/// of groups[j]; -1 means no group.
struct GroupLayout {
    std::int64_t n_groups = 0;
    const std::int32_t* groups = nullptr;
    const std::int32_t* slots = nullptr;
    const std::int64_t* member_ptr = nullptr;
    const std::int32_t* members = nullptr;
    const std::int64_t* entry_ptr = nullptr;  // offset of the block of each group

    std::int64_t size(std::int64_t group) const {
        return member_ptr[group + 1] - member_ptr[group];
    }
};

/// The pseudo co-occurrence of a clustering: X^T X restricted to pairs of features of the same
/// group. A group of m features has a dense block of m x m entries, so that nothing is d x d. Rows
/// of a block may be scaled individually, so a block need not be symmetric.
struct CoOccurrenceView {
    GroupLayout layout;
    const float* entries = nullptr;
};

/// Computes the blocks in one stream over the rows; `cosine` divides each entry by the square roots
/// of the two corresponding diagonal entries. Each thread streams all rows for its own groups, so
/// that every sum is taken in row order.
/// O(sum over rows and groups of the squared number of the group's features in the row) time; 12
/// bytes of memory per entry of the blocks.
Vector<float> co_occurrence(const Context& context, const CsrView& matrix,
                            const GroupLayout& layout, bool cosine);

}  // namespace defrag
