// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/bitset.hpp"
#include "core/base/csr.hpp"
#include "core/label_tree/shape.hpp"
#include "core/solver/solver.hpp"

namespace defrag {

/// The points of one node: those that have a label below it, and its negatives; copied once for all
/// blocks. Reuses its memory. Points that are many lie in `storage`.
class NodePoints {
 public:
    NodePoints(const CsrView& X, Storage* storage)
        : members_(X.n_rows), slots_(X.n_cols), rows_(storage) {}

    /// `weights` has one number per row of X, or is null. More entries than options.run_entries are
    /// dealt into runs, at random, because points that follow each other in the data are alike.
    void assign(const CsrView& X, const CsrView& positives, const LabelTreeShape& tree,
                const PointListsView& negatives, std::int64_t node, const SolverOptions& options,
                const float* weights);

    const CompactRows& rows() const { return rows_; }
    /// The row of a point; undefined for points that are not of the node.
    std::int32_t row_of(std::int32_t point) const { return layout_.place_of_row[point]; }

 private:
    OrderedSet members_;
    Vector<std::int32_t> slots_;
    Vector<std::int32_t> ids_;
    RowLayout layout_;
    CompactRows rows_;
};

}  // namespace defrag
