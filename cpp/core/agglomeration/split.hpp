// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/agglomeration/tree.hpp"
#include "core/base/csr.hpp"
#include "core/base/gather_dot.hpp"
#include "core/base/parallel.hpp"
#include "core/base/sums.hpp"

namespace defrag {

/// The rows of the items of a node: the input itself, or a compact copy of a part of it with its
/// coordinates renumbered in their original order.
struct ItemRows {
    std::int64_t n_coords = 0;
    double unit = 1.0;  // fixed-point value of 1.0
    const std::int64_t* indptr = nullptr;
    const std::int32_t* indices = nullptr;
    const float* data = nullptr;

    std::int64_t size(std::int32_t row) const { return indptr[row + 1] - indptr[row]; }
};

/// Memory that a thread reuses from node to node.
struct SplitScratch {
    Sums left;
    Sums right;
    Vector<float> direction;     // contribution of a coordinate to an item's score
    Vector<std::uint64_t> keys;  // (score descending, position) of each item
    Vector<std::uint8_t> side;   // 1: left
    Vector<std::int32_t> moved;
    Vector<std::uint64_t> candidates;  // keys among which the cut is searched
    Vector<std::int32_t> counts;       // keys per bucket
    Vector<std::int32_t> ranking;      // of coordinates, for the nDCG rule
};

/// One balanced two-way split. After run(), scratch.side has the side of each item, and
/// scratch.left and scratch.right the sums of the two sides.
class Split {
 public:
    /// `total` is the sum over all rows of the node. With a non-null `context`, rows are
    /// distributed over its threads; otherwise the split runs on the calling thread.
    Split(const ItemRows& rows, const Vector<std::int32_t>& members, const Sums& total,
          const SplitOptions& options, SplitScratch& scratch, const Context* context);

    /// Moves `n_left` members to the left side; `first` and `second` are the positions of the two
    /// members that serve as initial centres.
    void run(std::int64_t n_left, std::int64_t first, std::int64_t second);

    double objective() const { return objective_; }
    int n_rounds() const { return n_rounds_; }

 private:
    void start_from(std::int32_t row, Sums& sums) const;
    void point_direction();
    void point_by_centres();
    void score_members();
    bool cut(std::int64_t n_left);
    std::uint64_t smallest_key_outside(std::int64_t n_left);
    void gather_left();
    void move_changed();
    /// Sets the sums of the right side to the total less the left side.
    void leave_rest_to_right();

    const ItemRows& rows_;
    const Vector<std::int32_t>& members_;
    const Sums& total_;
    const SplitOptions& options_;
    SplitScratch& scratch_;
    const Context* context_;
    GatherDot dot_;
    double objective_ = 0.0;
    int n_rounds_ = 0;
};

/// Returns the fixed-point steps per 1.0: fine enough for any significant float (2^40 up to four
/// million items), coarse enough for the sum of `n_items` unit rows to stay below 2^62.
double fixed_point_unit(std::int64_t n_items);

/// Adds `sign` times one row to sums.
void add_row(const ItemRows& rows, std::int32_t row, std::int64_t sign, Sums& sums);

/// Returns the sum of some rows.
Sums sum_rows(const Context& context, const ItemRows& rows, const Vector<std::int32_t>& members);

}  // namespace defrag
