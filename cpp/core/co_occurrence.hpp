// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// A clustering of features, laid out for its blocks: group k has the members
/// members[member_ptr[k]..member_ptr[k + 1]), in ascending order, and feature j is member
/// slots[j] of groups[j]; -1 is no group.
struct GroupLayout {
    std::int64_t n_groups = 0;
    const std::int32_t* groups = nullptr;
    const std::int32_t* slots = nullptr;
    const std::int64_t* member_ptr = nullptr;
    const std::int32_t* members = nullptr;
    const std::int64_t* entry_ptr = nullptr;  // where the block of each group begins

    std::int64_t size(std::int64_t group) const {
        return member_ptr[group + 1] - member_ptr[group];
    }
};

/// The pseudo co-occurrence of a clustering: X^T X where both features are of one group. A
/// group of m features has a dense block of m x m entries, so that nothing is ever d x d. Rows of
/// a block may be scaled each in its own way: it need not be symmetric.
struct CoOccurrenceView {
    GroupLayout layout;
    const float* entries = nullptr;
};

/// Computes the blocks in one stream over the rows; `cosine` divides each entry by the square
/// roots of its two diagonal ones. Every thread streams all rows for groups of its own, so
/// that a sum has the order of the rows. O(sum over rows and groups of the squared number of the
/// group's features in the row); memory: 12 bytes per entry of the blocks.
Vector<float> co_occurrence(const Context& context, const CsrView& matrix,
                            const GroupLayout& layout, bool cosine);

}  // namespace defrag
