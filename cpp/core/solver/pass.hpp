// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

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

}  // namespace defrag
