// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/aligned.hpp"
#include "core/base/arrays.hpp"
#include "core/solver/compact_rows.hpp"
#include "core/solver/pass.hpp"

namespace defrag {

/// Workspace for a block of kLanes problems that share their rows, reused from block to block.
/// Memory: (rows + features) * 64 bytes.
struct LaneMemory {
    AlignedBuffer<float> weights;            // [slot][kLanes]
    AlignedBuffer<float> dual;               // [row][kLanes], y * alpha
    Vector<std::uint16_t> signs;             // bit l of row r: row r is a positive of lane l
    alignas(64) float offsets[kLanes] = {};  // constant part of the score

    /// Starts a block without positives.
    void start(const CompactRows& rows) { signs.assign(rows.n_rows(), 0); }

    /// Marks a row as a positive of a lane; returns the lanes of which it was already a positive.
    unsigned mark(std::int64_t lane, std::int64_t row) {
        const unsigned before = signs[row];
        signs[row] = static_cast<std::uint16_t>(before | 1U << lane);
        return before;
    }

    /// Zeroes weights and dual variables and returns a pass over them. The caller sets the rows to
    /// visit and the fields that only one kind of pass uses. `rows` must outlive the pass.
    Pass make_pass(const CompactRows& rows, double cost, float skip) {
        const std::int64_t n_weights = rows.n_slots() * kLanes;
        const std::int64_t n_duals = rows.n_rows() * kLanes;
        weights.require(n_weights);
        std::fill(weights.data(), weights.data() + n_weights, 0.0F);
        dual.require(n_duals);
        std::fill(dual.data(), dual.data() + n_duals, 0.0F);
        Pass pass = {};
        pass.entries = rows.entries();
        pass.starts = rows.starts();
        pass.norms = rows.norms();
        pass.signs = signs.data();
        pass.weights = weights.data();
        pass.dual = dual.data();
        pass.offsets = offsets;
        pass.cost = static_cast<float>(cost);
        pass.diagonal = static_cast<float>(0.5 / cost);
        pass.skip = skip;
        return pass;
    }
};

}  // namespace defrag
