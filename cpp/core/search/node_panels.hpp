// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/base/aligned.hpp"
#include "core/base/parallel.hpp"
#include "core/label_tree/model.hpp"
#include "core/solver/compact_rows.hpp"

namespace defrag {

/// The panels [first, last) of a node, of kLanes outputs each.
struct Panels {
    std::int64_t first = 0;
    std::int64_t last = 0;

    /// Returns the panels of a node with this number of outputs.
    static Panels all(std::int64_t n_outputs) { return {0, (n_outputs + kLanes - 1) / kLanes}; }

    std::int64_t count() const { return last - first; }
};

/// Weights of a node, unpacked into dense panels: one line of kLanes weights per feature and panel.
class NodePanels {
 public:
    NodePanels(const LabelTreeModel& model, const CsrView& X);

    /// Whether slots are proportionate to the stored model, whose number of features is only
    /// declared. If not, nodes must not be unpacked.
    bool fits() const { return fits_; }

    /// Selects the features of a node that occur in some rows of X, or all features of the node if
    /// examining the rows would cost more than unpacking them.
    void choose(std::int64_t node, const std::int32_t* rows, std::int64_t n_rows);
    /// Unpacks some panels of the node, with all threads of the context if there is one. O(features
    /// chosen, and their weights).
    void unpack(const Panels& panels, const Context* context = nullptr);
    /// Ends the use of a node; the rows are those for which its features were chosen.
    void forget(const std::int32_t* rows, std::int64_t n_rows);

    /// The panels that are unpacked.
    const Panels& panels() const { return panels_; }
    const float* lines() const { return lines_.data(); }
    /// Number of weights of a panel.
    std::int64_t panel_size() const { return n_chosen_ * kLanes; }
    /// Returns the number of the line of a feature plus one; 0 or less if it has none.
    std::int32_t slot(std::int32_t feature) const { return slots_[feature]; }

 private:
    /// A feature to unpack, by its position in the tree, and its first entry.
    struct Chosen {
        std::int64_t feature;
        std::int64_t entry;
    };
    static constexpr std::int32_t kWanted = -1;
    // Up to this number of features, slots_ is always allocated.
    static constexpr std::int64_t kFewFeatures = std::int64_t{1} << 22;
    // Few blocks, so that threads rarely use the same huge page first, which clears it twice.
    static constexpr std::int64_t kBlocksPerThread = 4;

    void unpack_lines(std::int64_t first_slot, std::int64_t last_slot);
    void mark(const std::int32_t* rows, std::int64_t n_rows, std::int32_t slot);

    const LabelTreeModel& model_;
    const CsrView& X_;
    bool fits_;
    std::int64_t node_ = 0;
    std::int64_t n_entries_ = 0;  // of the rows
    Panels panels_;
    // Number of the line of a feature plus one; 0 or kWanted if it has none.
    Vector<std::int32_t> slots_;
    Vector<Chosen> chosen_;  // the features to unpack
    std::int64_t n_chosen_ = 0;
    bool marked_ = false;         // whether slots_ contains marks of rows
    AlignedBuffer<float> lines_;  // [panel][feature][kLanes]
};

}  // namespace defrag
