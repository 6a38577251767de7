// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/node_points.hpp"

namespace defrag {

void NodePoints::assign(const CsrView& X, const CsrView& positives, const LabelTreeShape& tree,
                        const PointListsView& negatives, std::int64_t node,
                        const SolverOptions& options, const float* weights) {
    for (std::int32_t i = tree.begin[node]; i < tree.end[node]; ++i) {
        const std::int32_t label = tree.order[i];
        for (auto p = positives.begin(label); p < positives.end(label); ++p) {
            members_.insert(positives.indices[p]);
        }
    }
    for (const std::int32_t point : negatives.of(node)) members_.insert(point);
    ids_.clear();
    members_.drain([this](std::int32_t point) { ids_.push_back(point); });
    const Stream stream(options.seed, Stage::kRuns, static_cast<std::uint64_t>(node));
    const auto row_of = [this](std::int64_t i) { return ids_[i]; };
    layout_.deal(X, ids_.size(), row_of, options.run_entries, stream);
    rows_.assign(X, ids_.data(), ids_.size(), options.bias, slots_, layout_);
    rows_.weigh(weights, ids_.data(), layout_);
}

}  // namespace defrag
