// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/node_scorer.hpp"

#include <algorithm>

namespace defrag {
namespace {

/// Returns the first position in [first, last) whose value is not below `target`, by galloping from
/// the beginning.
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
    : model_(model), X_(X), score_panels_(select_score_panels(instructions)), memory_(model, X) {}

void NodeScorer::start_margins(std::int64_t node, const Panels& panels, float* margins) const {
    const float* bias = model_.bias + model_.bias_ptr[node];
    const std::int64_t first = panels.first * kLanes;
    const std::int64_t last =
        std::min(panels.last * kLanes, model_.bias_ptr[node + 1] - model_.bias_ptr[node]);
    float* end = std::copy(bias + first, bias + last, margins);
    std::fill(end, margins + panels.count() * kLanes, 0.0F);
}

bool NodeScorer::worth_unpacking(const Group& group) const {
    const std::int64_t first = model_.feature_ptr[group.node];
    const std::int64_t last = model_.feature_ptr[group.node + 1];
    if (!memory_.fits()) return false;
    const std::int64_t unpack_cost =
        (last - first) + (model_.entries.begin(last) - model_.entries.begin(first));
    const std::int64_t cost = model_.index == nullptr ? kGallopCost : kSearchCost;
    return count_entries(X_, group) * cost >= unpack_cost;
}

const float* NodeScorer::search(std::int64_t node, std::int32_t row) {
    const auto all = Panels::all(model_.tree.n_outputs(node));
    margins_.require(all.last * kLanes);
    start_margins(node, all, margins_.data());
    if (model_.index != nullptr) {
        search_index(node, row, margins_.data());
    } else {
        search_features(node, row, margins_.data());
    }
    return margins_.data();
}

void NodeScorer::search_index(std::int64_t node, std::int32_t row, float* margins) {
    const std::int64_t begin = X_.begin(row);
    hits_.resize(X_.end(row) - begin);
    const TreeEntries& entries = model_.entries;
    const std::int64_t n_hits = model_.index->find(node, model_.features, X_.indices + begin,
                                                   X_.end(row) - begin, hits_.data());
    for (std::int64_t h = 0; h < n_hits; ++h) entries.prefetch_place(hits_[h].feature);
    places_.resize(n_hits);
    for (std::int64_t h = 0; h < n_hits; ++h) {
        places_[h] = entries.begin(hits_[h].feature);
        entries.prefetch(places_[h]);
    }
    entries.with_types(node, [&](const auto* outputs, const auto& weights, float scale) {
        for (std::int64_t h = 0; h < n_hits; ++h) {
            const float value = X_.data[begin + hits_[h].position];
            const std::int64_t last = places_[h] + entries.size(hits_[h].feature);
            for (std::int64_t e = places_[h]; e < last; ++e) {
                margins[outputs[e]] += weights.get(e, scale) * value;
            }
        }
    });
}

void NodeScorer::search_features(std::int64_t node, std::int32_t row, float* margins) const {
    const std::int32_t* features = model_.features;
    const std::int32_t* place = features + model_.feature_ptr[node];
    const std::int32_t* last = features + model_.feature_ptr[node + 1];
    for (std::int64_t p = X_.begin(row); p < X_.end(row) && place != last; ++p) {
        place = gallop(place, last, X_.indices[p]);
        if (place == last || *place != X_.indices[p]) continue;
        const std::int64_t f = place - features;
        const std::int64_t first = model_.entries.begin(f);
        model_.entries.for_each(
            node, first, first + model_.entries.size(f),
            [&](std::int64_t output, float weight) { margins[output] += weight * X_.data[p]; });
    }
}

void NodeScorer::multiply(const NodePanels& unpacked, const Range& range) {
    constexpr auto kLineBytes = static_cast<std::uint32_t>(kLanes * sizeof(float));
    const Panels& panels = unpacked.panels();
    const Group group{unpacked.group().node, unpacked.group().rows + range.begin, range.size()};
    const std::int64_t stride = panels.count() * kLanes;
    entries_.require(count_entries(X_, group));
    margins_.require(group.n_rows * stride);
    ends_.clear();
    Entry* out = entries_.data();
    for (std::int64_t i = 0; i < group.n_rows; ++i) {
        start_margins(group.node, panels, margins_.data() + i * stride);
        for (std::int64_t p = X_.begin(group.rows[i]); p < X_.end(group.rows[i]); ++p) {
            // Branch-free: always written, but kept only if the node has the feature, because
            // mispredicted branches would cost more.
            const std::int32_t slot = unpacked.slot(X_.indices[p]);
            *out = {static_cast<std::uint32_t>(slot - 1) * kLineBytes, X_.data[p]};
            out += slot > 0 ? 1 : 0;
        }
        ends_.push_back(out);
    }
    const Entry* entry = entries_.data();
    for (std::int64_t i = 0; i < group.n_rows; ++i) {
        score_panels_(entry, ends_[i], unpacked.lines(), unpacked.panel_size(), panels.count(),
                      margins_.data() + i * stride);
        entry = ends_[i];
    }
}

}  // namespace defrag
