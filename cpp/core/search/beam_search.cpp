// SPDX-License-Identifier: BSD-3-Clause
// Beam search: level by level, the best nodes of every row are replaced by their best children;
// then the labels of the leaves that were reached are ranked.
#include "core/search/beam_search.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/search/visitor.hpp"

namespace defrag {
namespace {

// Number of rows searched together; large, so that many rows share each node.
constexpr std::int64_t kMaxBatch = 32768;
// Smaller batches do not repay waking the other threads.
constexpr std::int64_t kMinBatch = 256;

/// The search of one batch of rows.
class Batch {
 public:
    Batch(const Crew& crew, const LabelTreeModel& model, const BeamOptions& options,
          Visitor& visitor, std::int64_t first_row, std::int64_t n_rows)
        : model_(model),
          options_(options),
          visitor_(visitor),
          first_row_(first_row),
          visits_(crew, n_rows) {
        for (Shortlists* beams : {&beams_, &next_}) beams->start(n_rows, options.beam_size);
        labels_.start(n_rows, options.k);
        for (std::int64_t row = 0; row < n_rows; ++row) beams_.add(row, {0.0F, 0});
    }

    void find_labels(TopLabels& out) {
        while (descend_level()) {
        }
        rank_labels();
        visits_.each_row([&](std::int64_t row) {
            write_labels(labels_.items(row), labels_.size(row), first_row_ + row, out);
        });
    }

    /// Writes the leaves of the beams, [row][beam_size], in no particular order.
    void find_leaves(Vector<std::int32_t>& out) {
        while (descend_level()) {
        }
        visits_.each_row([&](std::int64_t row) {
            std::int32_t* leaves = out.data() + (first_row_ + row) * options_.beam_size;
            for (std::int64_t i = 0; i < beams_.size(row); ++i) leaves[i] = beams_.items(row)[i].id;
        });
    }

 private:
    /// Replaces the inner nodes of all beams by their children; returns false if there are none.
    bool descend_level() {
        visits_.choose([this](std::int64_t row, Vector<Visit>& visits) {
            next_.clear(row);
            for (std::int64_t i = 0; i < beams_.size(row); ++i) {
                const Scored& node = beams_.items(row)[i];
                if (model_.tree.is_leaf(node.id)) {
                    next_.add(row, node);
                } else {
                    visits.push_back({node.id, static_cast<std::int32_t>(row), node.score});
                }
            }
        });
        if (visits_.empty()) return false;
        visitor_.visit(visits_, first_row_, next_);
        std::swap(beams_, next_);
        return true;
    }

    /// Scores the labels of the leaves in the beams, best leaves first, two at first and then twice
    /// as many each time: a leaf whose labels start below the worst of k labels already found
    /// cannot contribute.
    void rank_labels() {
        visits_.each_row([&](std::int64_t row) { beams_.put_in_order(row); });
        std::int64_t first = 0;
        for (std::int64_t last = 2; first < options_.beam_size;
             first = std::exchange(last, 2 * last + 1)) {
            visits_.choose([&](std::int64_t row, Vector<Visit>& visits) {
                const std::int64_t end = std::min(last, beams_.size(row));
                const float bound = labels_.bound(row);
                for (std::int64_t i = first; i < end; ++i) {
                    const Scored& leaf = beams_.items(row)[i];
                    if (options_.score.start(leaf.score, true) < bound) break;
                    visits.push_back({leaf.id, static_cast<std::int32_t>(row), leaf.score, bound});
                }
            });
            visitor_.visit(visits_, first_row_, labels_);
        }
    }

    const LabelTreeModel& model_;
    const BeamOptions& options_;
    Visitor& visitor_;
    std::int64_t first_row_;
    Visits visits_;
    Shortlists beams_;  // nodes of each row
    Shortlists next_;
    Shortlists labels_;  // the best of each row
};

/// Calls search(batch) for all rows, in batches.
template <class Search>
void search_batches(const Context& context, const LabelTreeModel& model, const CsrView& X,
                    const BeamOptions& options, Search search) {
    context.expect(X.n_rows);
    if (model.tree.n_nodes == 0) return;
    Visitor visitor(context, model, X, options.score, options.instructions);
    for (std::int64_t first = 0; first < X.n_rows; first += kMaxBatch) {
        const std::int64_t n_rows = std::min(kMaxBatch, X.n_rows - first);
        const Crew crew(context, n_rows < kMinBatch);
        Batch batch(crew, model, options, visitor, first, n_rows);
        search(batch);
        context.advance(n_rows);
    }
}

/// Returns the options with a beam that never holds more nodes than exist.
BeamOptions bounded(const BeamOptions& options, const LabelTreeModel& model) {
    if (options.beam_size < 1) {
        throw std::invalid_argument("beam_size must be at least 1, got " +
                                    std::to_string(options.beam_size));
    }
    BeamOptions result = options;
    result.beam_size = std::min(options.beam_size, std::max<std::int64_t>(model.tree.n_nodes, 1));
    return result;
}

}  // namespace

TopLabels beam_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                      const BeamOptions& options) {
    const BeamOptions own = bounded(options, model);
    TopLabels result(X.n_rows, own.k);
    search_batches(context, model, X, own, [&](Batch& batch) { batch.find_labels(result); });
    return result;
}

PointLists reached_leaves(const Context& context, const LabelTreeModel& model, const CsrView& X,
                          const BeamOptions& options) {
    const BeamOptions own = bounded(options, model);
    Vector<std::int32_t> leaves(checked_product(X.n_rows, own.beam_size), -1);
    search_batches(context, model, X, own, [&](Batch& batch) { batch.find_leaves(leaves); });
    PointLists lists;
    lists.begin.assign(model.tree.n_nodes + 1, 0);
    for (const std::int32_t leaf : leaves) {
        if (leaf >= 0) ++lists.begin[leaf + 1];
    }
    std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
    lists.points.resize_for_overwrite(lists.begin.back());
    Vector<std::int64_t> next(lists.begin.begin(), lists.begin.end());
    for (std::int64_t i = 0; i < leaves.size(); ++i) {
        if (leaves[i] < 0) continue;
        lists.points[next[leaves[i]]++] = static_cast<std::int32_t>(i / own.beam_size);
    }
    return lists;
}

}  // namespace defrag
