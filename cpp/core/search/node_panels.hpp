// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/aligned.hpp"
#include "core/base/parallel.hpp"
#include "core/label_tree/model.hpp"
#include "core/solver/compact_rows.hpp"

namespace defrag {

/// A node of a tree, and the rows of X that reached it.
struct Group {
    std::int64_t node = 0;
    const std::int32_t* rows = nullptr;
    std::int64_t n_rows = 0;
};

/// Returns the number of entries of the rows of a group.
std::int64_t count_entries(const CsrView& X, const Group& group);

/// The panels [first, last) of a node, of kLanes outputs each.
struct Panels {
    std::int64_t first = 0;
    std::int64_t last = 0;

    /// Returns the panels of a node with this number of outputs.
    static Panels all(std::int64_t n_outputs) { return {0, (n_outputs + kLanes - 1) / kLanes}; }

    std::int64_t count() const { return last - first; }
};

/// The memory of NodePanels, reused from node to node.
class PanelMemory {
 public:
    PanelMemory(const LabelTreeModel& model, const CsrView& X);

    /// Whether slots are proportionate to the stored model, whose number of features is only
    /// declared. If not, nodes must not be unpacked.
    bool fits() const { return fits_; }

 private:
    friend class NodePanels;

    /// A feature to unpack, by its position in the tree, and its first entry.
    struct Chosen {
        std::int64_t feature;
        std::int64_t entry;
    };

    const LabelTreeModel& model_;
    const CsrView& X_;
    bool fits_;
    // Number of the line of a feature plus one; 0 or less if it has none. Zeros between nodes.
    Vector<std::int32_t> slots_;
    Vector<Chosen> chosen_;       // the features to unpack
    AlignedBuffer<float> lines_;  // [panel][feature][kLanes]
};

/// Weights of a node, unpacked into dense panels: one line of kLanes weights per feature and panel.
/// The memory belongs to one node at a time, as long as the object lives.
class NodePanels {
 public:
    /// Selects the features of the node that occur in the rows of the group, or all features of the
    /// node if examining the rows would cost more than unpacking them.
    NodePanels(PanelMemory& memory, const Group& group);
    ~NodePanels();
    NodePanels(const NodePanels&) = delete;
    NodePanels& operator=(const NodePanels&) = delete;

    /// Unpacks some panels of the node, with all threads of the context if there is one. O(features
    /// chosen, and their weights).
    void unpack(const Panels& panels, const Context* context = nullptr);

    const Group& group() const { return group_; }
    /// The panels that are unpacked.
    const Panels& panels() const { return panels_; }
    const float* lines() const { return memory_.lines_.data(); }
    /// Number of weights of a panel.
    std::int64_t panel_size() const { return n_chosen_ * kLanes; }
    /// Returns the number of the line of a feature plus one; 0 or less if it has none.
    std::int32_t slot(std::int32_t feature) const { return slots_[feature]; }

 private:
    void unpack_lines(std::int64_t first_slot, std::int64_t last_slot);
    void mark_rows(std::int32_t slot);

    PanelMemory& memory_;
    std::int32_t* slots_ = nullptr;  // those of the memory
    Group group_;
    std::int64_t n_entries_;  // of the rows
    bool marked_ = false;     // whether slots contain marks of rows
    std::int64_t n_chosen_ = 0;
    Panels panels_;
};

}  // namespace defrag
