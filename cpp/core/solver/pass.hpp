// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "core/base/aligned.hpp"
#include "core/base/arrays.hpp"
#include "core/base/instructions.hpp"
#include "core/solver/compact_rows.hpp"
#include "core/solver/losses.hpp"

namespace defrag {

/// One pass of dual coordinate descent over a list of rows, for kLanes problems at once. Uses plain
/// pointers, because the kernels are compiled once per instruction set and must not instantiate
/// anything that other translation units share.
struct Pass {
    const Entry* entries;
    const std::int64_t* starts;
    const float* norms;
    const float* importance;     // weight of the loss of each row, or null if all are 1
    const std::uint16_t* signs;  // bit l of row r: row r is a positive of lane l
    float* weights;              // [slot][kLanes], 64-byte aligned
    float* sums;                 // likewise, sums of y alpha x; sparse passes only
    const float* penalties;      // likewise, the l1 penalty of each weight; sparse passes only
    float* dual;                 // [row][kLanes], y * alpha, 64-byte aligned
    const float* offsets;        // [kLanes], constant part of the score, 64-byte aligned
    float cost;
    float diagonal;      // squared hinge: 1 / (2 cost)
    float shrink;        // a row leaves if every lane is zero with a gradient above this
    float skip;          // weights are kept unless a dual variable moves by more than this
    bool settle;         // rows that do not update the weights leave, too
    std::int32_t* rows;  // visiting order; on return, the rows that stay
    std::int64_t n_rows;
    alignas(64) float highest[kLanes];  // largest projected gradient of the pass, at least 0
    alignas(64) float lowest[kLanes];   // smallest, at most 0
};

/// Runs a pass and returns the number of rows that stay.
using RunPass = std::int64_t (*)(Pass&);

/// Returns the best version that this processor supports, or the requested one. Throws
/// std::invalid_argument if a requested version is not supported.
RunPass select_pass(Loss loss, Instructions instructions);

/// The same for the squared hinge with an l1 penalty (Yen et al., KDD 2017).
RunPass select_sparse_pass(Instructions instructions);

/// Keeps, in order, the rows of a list in which the margin of some lane is below a level; returns
/// their number.
using FindRows = std::int64_t (*)(Pass&, float level);
FindRows select_find_rows(Instructions instructions);

/// Adds a row to scores [panel][kLanes]: panel k has its weights [slot][kLanes] at panels + k *
/// panel_size. All are 64-byte aligned. Used in prediction.
using ScorePanels = void (*)(const Entry* entry, const Entry* end, const float* panels,
                             std::int64_t panel_size, std::int64_t n_panels, float* scores);
ScorePanels select_score_panels(Instructions instructions);

/// Sets bit l of masks[s] if |weights[s][l]| > threshold, for n_slots lines of kLanes.
using FindLarge = void (*)(const float* weights, std::int64_t n_slots, float threshold,
                           std::uint16_t* masks);
FindLarge select_find_large(Instructions instructions);

/// Workspace for a block of kLanes problems that share their rows, reused from block to block.
/// Memory: (rows + features) * 64 bytes.
struct LaneMemory {
    explicit LaneMemory(Storage* storage = nullptr) : dual(storage) {}

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
        pass.importance = rows.weights();
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
