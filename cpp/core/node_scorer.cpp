// SPDX-License-Identifier: BSD-3-Clause
#include "core/node_scorer.hpp"

#include <algorithm>

namespace defrag {
namespace {

/// First position in [first, last) whose value is not below `target`, looking near the
/// beginning first.
const std::int32_t* gallop(const std::int32_t* first, const std::int32_t* last,
                           std::int32_t target) {
    std::int64_t step = 1;
    while (step < last - first && first[step - 1] < target) {
        first += step;
        step *= 2;
    }
    return std::lower_bound(first, std::min(first + step, last), target);
}

}  // namespace

NodeScorer::NodeScorer(const LabelTreeModel& model, const CsrView& X, Instructions instructions)
    : model_(model),
      X_(X),
      score_panel_(select_score_panel(instructions)),
      slots_(at(model.n_features)) {}

void NodeScorer::start_margins(std::int64_t node, float* margins) const {
    std::copy(model_.bias + model_.bias_ptr[node], model_.bias + model_.bias_ptr[node + 1],
              margins);
}

const float* NodeScorer::search(std::int64_t node, std::int32_t row) {
    margins_.require(at(model_.tree.n_outputs(node)));
    float* margins = margins_.data();
    start_margins(node, margins);
    const std::int32_t* features = model_.features;
    const std::int32_t* place = features + model_.feature_ptr[node];
    const std::int32_t* last = features + model_.feature_ptr[node + 1];
    for (std::int64_t p = X_.begin(row); p < X_.end(row) && place != last; ++p) {
        place = gallop(place, last, X_.indices[p]);
        if (place == last || *place != X_.indices[p]) continue;
        const std::int64_t f = place - features;
        for (std::int64_t e = model_.entry_ptr[f]; e < model_.entry_ptr[f + 1]; ++e) {
            margins[model_.outputs[e]] += model_.weights[e] * X_.data[p];
        }
    }
    return margins;
}

void NodeScorer::unpack(std::int64_t node) {
    const std::int64_t first = model_.feature_ptr[node];
    const std::int64_t last = model_.feature_ptr[node + 1];
    const std::int64_t n_panels = (model_.tree.n_outputs(node) + kLanes - 1) / kLanes;
    stride_ = n_panels * kLanes;
    panel_size_ = (last - first) * kLanes;
    panels_.require(at(n_panels * panel_size_));
    std::fill(panels_.data(), panels_.data() + n_panels * panel_size_, 0.0F);
    for (std::int64_t f = first; f < last; ++f) {
        slots_[at(model_.features[f])] = static_cast<std::int32_t>(f - first + 1);
        float* line = panels_.data() + (f - first) * kLanes;
        for (std::int64_t e = model_.entry_ptr[f]; e < model_.entry_ptr[f + 1]; ++e) {
            const std::int64_t output = model_.outputs[e];
            line[output / kLanes * panel_size_ + output % kLanes] = model_.weights[e];
        }
    }
}

void NodeScorer::multiply(std::int64_t node, const std::int32_t* rows, std::int64_t n_rows) {
    constexpr auto kLineBytes = static_cast<std::uint32_t>(kLanes * sizeof(float));
    margins_.require(at(n_rows * stride_));
    entries_.clear();
    starts_.assign(1, 0);
    std::fill(margins_.data(), margins_.data() + n_rows * stride_, 0.0F);
    for (std::int64_t i = 0; i < n_rows; ++i) {
        start_margins(node, margins_.data() + i * stride_);
        for (std::int64_t p = X_.begin(rows[i]); p < X_.end(rows[i]); ++p) {
            const std::int32_t slot = slots_[at(X_.indices[p])];
            if (slot == 0) continue;
            entries_.push_back({static_cast<std::uint32_t>(slot - 1) * kLineBytes, X_.data[p]});
        }
        starts_.push_back(static_cast<std::int64_t>(entries_.size()));
    }
    for (std::int64_t panel = 0; panel * kLanes < stride_; ++panel) {
        for (std::int64_t i = 0; i < n_rows; ++i) {
            score_panel_(entries_.data() + starts_[at(i)], entries_.data() + starts_[at(i) + 1],
                         panels_.data() + panel * panel_size_,
                         margins_.data() + i * stride_ + panel * kLanes);
        }
    }
}

void NodeScorer::forget(std::int64_t node) {
    for (std::int64_t f = model_.feature_ptr[node]; f < model_.feature_ptr[node + 1]; ++f) {
        slots_[at(model_.features[f])] = 0;
    }
}

}  // namespace defrag
