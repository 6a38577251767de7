// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/compact_rows.hpp"
#include "core/instructions.hpp"
#include "core/losses.hpp"

namespace defrag {

/// One pass of dual coordinate descent over a list of rows, for kLanes problems at once.
/// Plain pointers, because the code behind it is compiled once per instruction set and
/// must not instantiate anything that other translation units share.
struct Pass {
    const Entry* entries;
    const std::int64_t* starts;
    const float* norms;
    const std::uint16_t* signs;  // bit l of row r: row r is a positive of lane l
    float* weights;              // [slot][kLanes], 64-byte aligned
    float* sums;                 // likewise, of y alpha x; sparse passes only
    const float* penalties;      // likewise, the l1 penalty of each weight; sparse passes only
    float* dual;                 // [row][kLanes], y * alpha, 64-byte aligned
    const float* offsets;        // [kLanes], a fixed part of the score, 64-byte aligned
    float cost;
    float diagonal;      // squared hinge: 1 / (2 cost)
    float shrink;        // a row leaves when every lane is at zero with a gradient above this
    float skip;          // weights stay when no lane's dual variable moves by more
    bool settle;         // a row also leaves when it leaves the weights alone
    std::int32_t* rows;  // the visiting order; on return, the rows that stay
    std::int64_t n_rows;
    alignas(64) float highest[kLanes];  // largest projected gradient of the pass, at least 0
    alignas(64) float lowest[kLanes];   // smallest, at most 0
};

/// Runs a pass and returns how many rows stay.
using RunPass = std::int64_t (*)(Pass&);

/// The best version this processor has, for kBest; throws std::invalid_argument when a
/// named version cannot run here.
RunPass select_pass(Loss loss, Instructions instructions);

/// The same for the squared hinge with an l1 penalty (Yen et al., KDD 2017).
RunPass select_sparse_pass(Instructions instructions);

/// Keeps those rows of a list on which the margin of some lane is below a level, in order;
/// returns how many.
using FindRows = std::int64_t (*)(Pass&, float level);
FindRows select_find_rows(Instructions instructions);

/// Adds a row to scores [panel][kLanes]: panel number k has its weights [slot][kLanes] at
/// panels + k * panel_size. All 64-byte aligned. What prediction needs of this machinery.
using ScorePanels = void (*)(const Entry* entry, const Entry* end, const float* panels,
                             std::int64_t panel_size, std::int64_t n_panels, float* scores);
ScorePanels select_score_panels(Instructions instructions);

/// Writes the scores of kLanes margins below a node, parent - max(0, 1 - margin)^power, and returns
/// one bit per lane whose score is at least `threshold`. `power` is 2 or 3; margins and scores are
/// 64-byte aligned.
using ScoreLanes = unsigned (*)(const float* margins, float parent, int power, float threshold,
                                float* scores);
ScoreLanes select_score_lanes(Instructions instructions);

/// Sets bit l of masks[s] where |weights[s][l]| > threshold, for n_slots lines of kLanes.
using FindLarge = void (*)(const float* weights, std::int64_t n_slots, float threshold,
                           std::uint16_t* masks);
FindLarge select_find_large(Instructions instructions);

}  // namespace defrag
