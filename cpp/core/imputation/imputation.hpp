// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

struct CompanionOptions {
    std::int64_t n_best = 0;    // companions of a feature, not counting itself
    std::int64_t max_rows = 0;  // rows sampled per feature
    double ridge = 0.0;         // added to the squares in the denominator of a slope
    double common = 0.0;        // slopes of a feature with this many rows are halved
    std::uint64_t seed = 0;
};

/// Computes the strongest companions of every feature j: with S = X^T X over unit rows, the
/// features with the largest |S_jk| weight_k (ties go to the smaller k), and j itself. The entry of
/// k is the slope S_jk / (S_jj + ridge), for k != j divided by 1 + rows of j / common, because a
/// feature that occurs in every row carries no information about the others.
///
/// `columns` is X^T, the rows of each feature; `weights` has one number per feature. A feature with
/// more than `max_rows` rows is represented by max_rows of them, evenly spaced from an offset drawn
/// by (seed, feature).
/// O(sum over features of the non-zeros of at most max_rows rows) time; n_best + 1 entries of 8
/// bytes per feature, and 12 bytes per feature and thread.
Csr companions(const Context& context, const CsrView& columns, const CsrView& rows,
               const float* weights, const CompanionOptions& options);

/// Limits the entries kept of a row, the largest: `max_growth` times its original number, but at
/// least `usual_size`, and never more than `max_entries`; 0 means no limit.
struct Room {
    std::int64_t max_growth = 0;
    std::int64_t usual_size = 0;
    std::int64_t max_entries = 0;
};

/// Imputes unit rows u: u + beta u C / |u C|, or u C if `betas` is null; the result is
/// L2-normalised. A row with beta 0 is returned unchanged, whatever the limits. C is the mean of
/// the blocks.
/// O(sum over the non-zeros of the sizes of their groups) per row. Memory: the result, and about
/// five bytes per feature and thread.
Csr impute(const Context& context, const CsrView& rows, const Vector<CoOccurrenceView>& blocks,
           const float* betas, const Room& room);

/// The same with row j of `companions` as row j of C.
Csr impute(const Context& context, const CsrView& rows, const CsrView& companions,
           const float* betas, const Room& room);

}  // namespace defrag
