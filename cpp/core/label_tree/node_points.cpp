// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/node_points.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/random.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kDualEntries = kLanes * sizeof(float) / sizeof(Entry);  // of a row

}  // namespace

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
    deal(X, options, node);
    rows_.assign(X, ids_.data(), ids_.size(), options.bias, slots_, layout_);
    rows_.weigh(weights, ids_.data(), layout_);
}

void NodePoints::deal(const CsrView& X, const SolverOptions& options, std::int64_t node) {
    std::int64_t n_entries = 0;
    for (const std::int32_t id : ids_) {
        n_entries += CompactRows::size_of_row(X.end(id) - X.begin(id)) + kDualEntries;
    }
    const std::int64_t n_runs = 1 + n_entries / std::max<std::int64_t>(options.run_entries, 1);
    // The same numbers are drawn twice, first to count.
    const auto each = [&](auto body) {
        Stream stream(options.seed, Stage::kRuns, static_cast<std::uint64_t>(node));
        for (const std::int32_t id : ids_) body(id, n_runs == 1 ? 0 : stream.below(n_runs));
    };
    layout_.runs.assign(n_runs + 1, 0);
    each([this](std::int32_t, std::int64_t run) { ++layout_.runs[run + 1]; });
    std::partial_sum(layout_.runs.begin(), layout_.runs.end(), layout_.runs.begin());
    Vector<std::int64_t> next = layout_.runs;
    each([this, &next](std::int32_t id, std::int64_t run) {
        layout_.place_of_row[id] = static_cast<std::int32_t>(next[run]++);
    });
}

}  // namespace defrag
