// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "core/base/aligned.hpp"
#include "core/label_tree/model.hpp"
#include "core/search/node_panels.hpp"
#include "core/solver/pass.hpp"

namespace defrag {

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

    /// Calls visit(i, outputs, margins) for all rows of a group and all outputs of its node, a few
    /// panels at a time; margins[o] is the margin of output outputs.first + o for row i of the
    /// group. `margins` is padded to a multiple of kLanes and 64-byte aligned.
    template <class Visit>
    void score(const Group& group, Visit visit) {
        if (!worth_unpacking(group)) {
            const Outputs all{0, model_.tree.n_outputs(group.node)};
            for (std::int64_t i = 0; i < group.n_rows; ++i) {
                visit(i, all, search(group.node, group.rows[i]));
            }
            return;
        }
        NodePanels panels(memory_, group);
        for_each_turn(model_.tree.n_outputs(group.node), [&](const Panels& turn) {
            panels.unpack(turn);
            score_unpacked(panels, {0, group.n_rows}, visit);
        });
    }

    /// Calls run(panels) for the panels of a node with n_outputs, kPanelsPerTurn at a time.
    template <class Run>
    static void for_each_turn(std::int64_t n_outputs, Run run) {
        const std::int64_t n_panels = Panels::all(n_outputs).count();
        for (std::int64_t panel = 0; panel < n_panels; panel += kPanelsPerTurn) {
            run(Panels{panel, std::min(panel + kPanelsPerTurn, n_panels)});
        }
    }

    /// Calls visit(i, outputs, margins) for a range of the rows of a group and the panels of its
    /// node that are unpacked, possibly by another thread.
    template <class Visit>
    void score_unpacked(const NodePanels& unpacked, const Range& range, Visit visit) {
        const Panels& panels = unpacked.panels();
        const std::int64_t n_outputs = model_.tree.n_outputs(unpacked.group().node);
        const std::int64_t first = panels.first * kLanes;
        const Outputs outputs{first, std::min(panels.last * kLanes, n_outputs) - first};
        const std::int64_t stride = panels.count() * kLanes;
        for (std::int64_t begin = range.begin; begin < range.end; begin += kRowsPerTurn) {
            const std::int64_t end = std::min(begin + kRowsPerTurn, range.end);
            multiply(unpacked, {begin, end});
            for (std::int64_t i = begin; i < end; ++i) {
                visit(i, outputs, margins_.data() + (i - begin) * stride);
            }
        }
    }

    /// Returns whether the rows of a group repay unpacking the node into dense panels.
    bool worth_unpacking(const Group& group) const;

 private:
    // Searching a feature costs about as much as unpacking this many weights, without and with an
    // index.
    static constexpr std::int64_t kGallopCost = 64;
    static constexpr std::int64_t kSearchCost = 4;
    // Number of rows whose entries stay in the cache while the panels of a wide node are streamed.
    static constexpr std::int64_t kRowsPerTurn = 64;

    const float* search(std::int64_t node, std::int32_t row);
    void search_index(std::int64_t node, std::int32_t row, float* margins);
    void search_features(std::int64_t node, std::int32_t row, float* margins) const;
    /// Writes the biases of some panels of a node, padded with zeros.
    void start_margins(std::int64_t node, const Panels& panels, float* margins) const;
    /// Computes the margins of a range of the rows of the group.
    void multiply(const NodePanels& unpacked, const Range& range);

    const LabelTreeModel& model_;
    const CsrView& X_;
    ScorePanels score_panels_;
    PanelMemory memory_;
    AlignedBuffer<float> margins_;  // [row][panel][kLanes]
    AlignedBuffer<Entry> entries_;  // the rows of a turn, as entries of the panels
    Vector<const Entry*> ends_;
    Vector<FeatureIndex::Hit> hits_;
    Vector<std::int64_t> places_;  // positions of the entries of the hits
};

}  // namespace defrag
