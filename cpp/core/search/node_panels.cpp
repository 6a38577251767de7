// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/node_panels.hpp"

#include <algorithm>

namespace defrag {
namespace {

constexpr std::int32_t kWanted = -1;
// Up to this number of features, slots are always allocated.
constexpr std::int64_t kFewFeatures = std::int64_t{1} << 22;
// Few blocks, so that threads rarely use the same huge page first, which clears it twice.
constexpr std::int64_t kBlocksPerThread = 4;

}  // namespace

std::int64_t count_entries(const CsrView& X, const Group& group) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < group.n_rows; ++i) {
        count += X.end(group.rows[i]) - X.begin(group.rows[i]);
    }
    return count;
}

PanelMemory::PanelMemory(const LabelTreeModel& model, const CsrView& X)
    : model_(model),
      X_(X),
      fits_(model.n_features <=
            std::max(kFewFeatures, 16 * model.feature_ptr[model.tree.n_nodes])) {}

NodePanels::NodePanels(PanelMemory& memory, const Group& group)
    : memory_(memory), group_(group), n_entries_(count_entries(memory.X_, group)) {
    const LabelTreeModel& model = memory.model_;
    memory.slots_.resize(model.n_features);  // allocated lazily: single rows rarely need it
    slots_ = memory.slots_.data();
    const std::int64_t first = model.feature_ptr[group.node];
    // Features that are not below model.n_features come last; rows have none of them.
    const std::int32_t* features = model.features + first;
    const std::int32_t* end = model.features + model.feature_ptr[group.node + 1];
    if (features != end && end[-1] >= model.n_features) {
        end = std::lower_bound(features, end, static_cast<std::int32_t>(model.n_features));
    }
    const std::int64_t n_features = end - features;
    // Branch-free: always written, but kept only if wanted. About half are, which no branch
    // predictor can guess.
    if (memory.chosen_.size() <= n_features) memory.chosen_.resize(n_features + 1);
    marked_ = n_entries_ < n_features * Panels::all(model.tree.n_outputs(group.node)).count();
    if (marked_) mark_rows(kWanted);
    PanelMemory::Chosen* chosen = memory.chosen_.data();
    std::int64_t entry = model.entries.begin(first);
    for (std::int64_t f = 0; f < n_features; ++f) {
        chosen[n_chosen_] = {first + f, entry};
        n_chosen_ += !marked_ || slots_[features[f]] != 0 ? 1 : 0;
        entry += model.entries.size(first + f);
    }
}

NodePanels::~NodePanels() {
    if (!marked_) {
        for (std::int64_t slot = 0; slot < n_chosen_; ++slot) {
            slots_[memory_.model_.features[memory_.chosen_[slot].feature]] = 0;
        }
    } else if (n_entries_ < memory_.slots_.size() / kLanes) {
        mark_rows(0);
    } else {
        std::fill(memory_.slots_.begin(), memory_.slots_.end(), 0);  // sixteen at a time
    }
}

void NodePanels::unpack(const Panels& panels, const Context* context) {
    panels_ = panels;
    memory_.lines_.require(panels.count() * panel_size());
    if (context == nullptr) return unpack_lines(0, n_chosen_);
    const std::int64_t n_blocks = kBlocksPerThread * context->n_threads();
    parallel_for(
        *context, n_chosen_, (n_chosen_ + n_blocks - 1) / n_blocks,
        [&](std::int64_t first, std::int64_t last, unsigned) { unpack_lines(first, last); });
}

void NodePanels::unpack_lines(std::int64_t first_slot, std::int64_t last_slot) {
    const TreeEntries& entries = memory_.model_.entries;
    const std::int32_t* features = memory_.model_.features;
    const PanelMemory::Chosen* chosen = memory_.chosen_.data();
    const std::int64_t size = panel_size();
    entries.with_types(group_.node, [&](const auto* outputs, const auto& weights, float scale) {
        float* line = memory_.lines_.data() + first_slot * kLanes;
        for (std::int64_t slot = first_slot; slot < last_slot; ++slot, line += kLanes) {
            const auto [feature, entry] = chosen[slot];
            slots_[features[feature]] = static_cast<std::int32_t>(slot + 1);
            for (std::int64_t p = 0; p < panels_.count(); ++p) {
                std::fill(line + p * size, line + p * size + kLanes, 0.0F);
            }
            const std::int64_t end = entry + entries.size(feature);
            for (std::int64_t e = entry; e < end; ++e) {
                const std::int64_t panel = outputs[e] / kLanes;
                if (panel < panels_.first || panel >= panels_.last) continue;
                line[(panel - panels_.first) * size + outputs[e] % kLanes] = weights.get(e, scale);
            }
        }
    });
}

void NodePanels::mark_rows(std::int32_t slot) {
    const CsrView& X = memory_.X_;
    for (std::int64_t i = 0; i < group_.n_rows; ++i) {
        for (std::int64_t p = X.begin(group_.rows[i]); p < X.end(group_.rows[i]); ++p) {
            slots_[X.indices[p]] = slot;
        }
    }
}

}  // namespace defrag
