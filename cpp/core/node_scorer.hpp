// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/beam_search.hpp"
#include "core/compact_rows.hpp"
#include "core/solver_pass.hpp"

namespace defrag {

/// Evaluates the classifiers of a node for the rows that reached it. One per thread.
class NodeScorer {
 public:
    NodeScorer(const LabelTreeModel& model, const CsrView& X, Instructions instructions);

    /// Calls visit(i, margins) for i = 0..n_rows-1; row i of the group is rows[i] of X, and
    /// margins[o] the margin of output o.
    template <class Visit>
    void score(std::int64_t node, const std::int32_t* rows, std::int64_t n_rows, Visit visit) {
        if (n_rows < kDenseRows) {
            for (std::int64_t i = 0; i < n_rows; ++i) visit(i, search(node, rows[i]));
            return;
        }
        unpack(node);
        for (std::int64_t first = 0; first < n_rows; first += kRowsPerTurn) {
            const std::int64_t last = std::min(first + kRowsPerTurn, n_rows);
            multiply(node, rows + first, last - first);
            for (std::int64_t i = first; i < last; ++i) {
                visit(i, margins_.data() + (i - first) * stride_);
            }
        }
        forget(node);
    }

 private:
    // From this many rows on it pays to unpack the weights of a node.
    static constexpr std::int64_t kDenseRows = 8;
    // Rows whose entries stay in the cache while the panels of a wide node pass by.
    static constexpr std::int64_t kRowsPerTurn = 64;

    const float* search(std::int64_t node, std::int32_t row);
    void start_margins(std::int64_t node, float* margins) const;
    void unpack(std::int64_t node);
    void multiply(std::int64_t node, const std::int32_t* rows, std::int64_t n_rows);
    void forget(std::int64_t node);

    const LabelTreeModel& model_;
    const CsrView& X_;
    ScorePanel score_panel_;
    std::vector<std::int32_t> slots_;  // place of a feature in the unpacked node, plus one
    AlignedBuffer<float> panels_;      // [panel][feature][kLanes]
    AlignedBuffer<float> margins_;     // [row][stride_]
    std::vector<Entry> entries_;
    std::vector<std::int64_t> starts_;
    std::int64_t stride_ = 0;
    std::int64_t panel_size_ = 0;
};

}  // namespace defrag
