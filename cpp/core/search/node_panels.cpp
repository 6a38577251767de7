// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/node_panels.hpp"

#include <algorithm>

namespace defrag {

NodePanels::NodePanels(const LabelTreeModel& model, const CsrView& X)
    : model_(model),
      X_(X),
      fits_(model.n_features <=
            std::max(kFewFeatures, 16 * model.feature_ptr[model.tree.n_nodes])) {}

void NodePanels::choose(std::int64_t node, const std::int32_t* rows, std::int64_t n_rows) {
    node_ = node;
    slots_.resize(model_.n_features);  // allocated lazily: single rows rarely need it
    const std::int64_t first = model_.feature_ptr[node];
    // Features that are not below model_.n_features come last; rows have none of them.
    const std::int32_t* features = model_.features + first;
    const std::int32_t* end = model_.features + model_.feature_ptr[node + 1];
    if (features != end && end[-1] >= model_.n_features) {
        end = std::lower_bound(features, end, static_cast<std::int32_t>(model_.n_features));
    }
    const std::int64_t n_features = end - features;
    n_entries_ = 0;
    for (std::int64_t i = 0; i < n_rows; ++i) n_entries_ += X_.end(rows[i]) - X_.begin(rows[i]);
    marked_ = n_entries_ < n_features * Panels::all(model_.tree.n_outputs(node)).count();
    if (marked_) mark(rows, n_rows, kWanted);
    // Branch-free: always written, but kept only if wanted. About half are, which no branch
    // predictor can guess.
    if (chosen_.size() <= n_features) chosen_.resize(n_features + 1);
    n_chosen_ = 0;
    std::int64_t entry = model_.entries.begin(first);
    for (std::int64_t f = 0; f < n_features; ++f) {
        chosen_[n_chosen_] = {first + f, entry};
        n_chosen_ += !marked_ || slots_[features[f]] != 0 ? 1 : 0;
        entry += model_.entries.size(first + f);
    }
}

void NodePanels::unpack(const Panels& panels, const Context* context) {
    panels_ = panels;
    lines_.require(panels.count() * panel_size());
    if (context == nullptr) return unpack_lines(0, n_chosen_);
    const std::int64_t n_blocks = kBlocksPerThread * context->n_threads();
    parallel_for(
        *context, n_chosen_, (n_chosen_ + n_blocks - 1) / n_blocks,
        [&](std::int64_t first, std::int64_t last, unsigned) { unpack_lines(first, last); });
}

void NodePanels::unpack_lines(std::int64_t first_slot, std::int64_t last_slot) {
    const TreeEntries& entries = model_.entries;
    const std::int64_t size = panel_size();
    entries.with_types(node_, [&](const auto* outputs, const auto& weights, float scale) {
        float* line = lines_.data() + first_slot * kLanes;
        for (std::int64_t slot = first_slot; slot < last_slot; ++slot, line += kLanes) {
            const auto [feature, entry] = chosen_[slot];
            slots_[model_.features[feature]] = static_cast<std::int32_t>(slot + 1);
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

void NodePanels::mark(const std::int32_t* rows, std::int64_t n_rows, std::int32_t slot) {
    for (std::int64_t i = 0; i < n_rows; ++i) {
        for (std::int64_t p = X_.begin(rows[i]); p < X_.end(rows[i]); ++p) {
            slots_[X_.indices[p]] = slot;
        }
    }
}

void NodePanels::forget(const std::int32_t* rows, std::int64_t n_rows) {
    if (!marked_) {
        for (std::int64_t slot = 0; slot < n_chosen_; ++slot) {
            slots_[model_.features[chosen_[slot].feature]] = 0;
        }
    } else if (n_entries_ < slots_.size() / kLanes) {
        mark(rows, n_rows, 0);
    } else {
        std::fill(slots_.begin(), slots_.end(), 0);  // sixteen at a time
    }
}

}  // namespace defrag
