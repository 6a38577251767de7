// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/aligned.hpp"
#include "core/beam_search.hpp"
#include "core/compact_rows.hpp"
#include "core/solver_pass.hpp"

namespace defrag {

/// The panels [first, last) of a node, of kLanes outputs each.
struct Panels {
    std::int64_t first = 0;
    std::int64_t last = 0;
};

/// Some outputs of a node.
struct Outputs {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// Evaluates the classifiers of a node for the rows that reached it. One object per thread.
class NodeScorer {
 public:
    NodeScorer(const LabelTreeModel& model, const CsrView& X, Instructions instructions);

    // Number of panels of a wide node that are unpacked and scored at a time.
    static constexpr std::int64_t kPanelsPerTurn = 4;

    /// Calls visit(i, outputs, margins) for i = 0..n_rows-1 and all outputs of a node, a few panels
    /// at a time; row i of the group is rows[i] of X, and margins[o] is the margin of output
    /// outputs.first + o. `margins` is padded to a multiple of kLanes and 64-byte aligned.
    template <class Visit>
    void score(std::int64_t node, const std::int32_t* rows, std::int64_t n_rows, Visit visit) {
        const std::int64_t n_outputs = model_.tree.n_outputs(node);
        if (!worth_unpacking(node, rows, n_rows)) {
            const Outputs all{0, n_outputs};
            for (std::int64_t i = 0; i < n_rows; ++i) visit(i, all, search(node, rows[i]));
            return;
        }
        for (std::int64_t panel = 0; panel < n_panels(node); panel += kPanelsPerTurn) {
            const Panels turn{panel, std::min(panel + kPanelsPerTurn, n_panels(node))};
            const std::int64_t first = turn.first * kLanes;
            const Outputs outputs{first, std::min(turn.last * kLanes, n_outputs) - first};
            unpack(node, turn, rows, n_rows);
            for (std::int64_t begin = 0; begin < n_rows; begin += kRowsPerTurn) {
                const std::int64_t end = std::min(begin + kRowsPerTurn, n_rows);
                multiply(node, turn, rows + begin, end - begin);
                for (std::int64_t i = begin; i < end; ++i) {
                    visit(i, outputs, margins_.data() + (i - begin) * stride_);
                }
            }
            forget(rows, n_rows);
        }
    }

 private:
    // Searching a feature costs about as much as unpacking this many weights, without and with an
    // index.
    static constexpr std::int64_t kGallopCost = 64;
    static constexpr std::int64_t kSearchCost = 4;
    // Number of rows whose entries stay in the cache while the panels of a wide node are streamed.
    static constexpr std::int64_t kRowsPerTurn = 64;

    /// A feature to unpack, by its position in the tree, and its first entry.
    struct Chosen {
        std::int64_t feature;
        std::int64_t entry;
    };
    static constexpr std::int32_t kWanted = -1;

    // Up to this number of features, slots_ is always allocated.
    static constexpr std::int64_t kFewFeatures = std::int64_t{1} << 22;

    std::int64_t n_panels(std::int64_t node) const {
        return (model_.tree.n_outputs(node) + kLanes - 1) / kLanes;
    }
    /// Returns whether these rows repay unpacking the node into dense panels.
    bool worth_unpacking(std::int64_t node, const std::int32_t* rows, std::int64_t n_rows) const;
    /// Returns the end of those features of a node that are below model_.n_features; rows have no
    /// others.
    const std::int32_t* known_end(std::int64_t node) const;
    const float* search(std::int64_t node, std::int32_t row);
    void search_index(std::int64_t node, std::int32_t row, float* margins);
    void search_features(std::int64_t node, std::int32_t row, float* margins) const;
    /// Writes the biases of some panels of a node, padded with zeros.
    void start_margins(std::int64_t node, const Panels& panels, float* margins) const;
    void unpack(std::int64_t node, const Panels& panels, const std::int32_t* rows,
                std::int64_t n_rows);
    /// Selects the features of a node that occur in the rows, unless examining the rows would cost
    /// more than unpacking all features.
    void choose_features(std::int64_t node, std::int64_t n_unpacked, const std::int32_t* rows,
                         std::int64_t n_rows);
    void mark(const std::int32_t* rows, std::int64_t n_rows, std::int32_t slot);
    void multiply(std::int64_t node, const Panels& panels, const std::int32_t* rows,
                  std::int64_t n_rows);
    void forget(const std::int32_t* rows, std::int64_t n_rows);

    const LabelTreeModel& model_;
    const CsrView& X_;
    ScorePanels score_panels_;
    // Whether slots_ is proportionate to the stored model, whose number of features is only
    // declared. If not, rows are searched, which gives the same bits.
    bool fits_slots_;
    // Position of a feature in the unpacked node plus one; 0 or kWanted if it has none.
    Vector<std::int32_t> slots_;
    Vector<Chosen> chosen_;  // the features to unpack
    std::int64_t n_chosen_ = 0;
    bool marked_ = false;           // whether slots_ contains marks of rows
    AlignedBuffer<float> panels_;   // [panel][feature][kLanes]
    AlignedBuffer<float> margins_;  // [row][stride_]
    AlignedBuffer<Entry> entries_;  // the rows of a turn, as entries of the panels
    Vector<const Entry*> ends_;
    Vector<FeatureIndex::Hit> hits_;
    Vector<std::int64_t> places_;  // positions of the entries of the hits
    std::int64_t stride_ = 0;
    std::int64_t panel_size_ = 0;
};

}  // namespace defrag
