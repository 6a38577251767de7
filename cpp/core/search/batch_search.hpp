// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "core/search/beam_search.hpp"
#include "core/search/visitor.hpp"

namespace defrag {

// Number of rows searched together; large, so that many rows share each node.
constexpr std::int64_t kMaxBatch = 32768;
// Smaller batches do not repay waking the other threads.
constexpr std::int64_t kMinBatch = 256;

/// Returns the options with a beam that never holds more nodes than exist.
BeamOptions bounded(const BeamOptions& options, const LabelTreeModel& model);

/// The search of a batch of rows in one tree: rows[0..n_rows) of X, which are numbered from 0 on.
class BatchSearch {
 public:
    BatchSearch(const Crew& crew, const LabelTreeModel& model, const BeamOptions& options,
                Visitor& visitor, const std::int32_t* rows, std::int64_t n_rows)
        : model_(model), options_(options), visitor_(visitor), rows_(rows), visits_(crew, n_rows) {
        for (Shortlists* beams : {&beams_, &next_}) beams->start(n_rows, options.beam_size);
        for (std::int64_t row = 0; row < n_rows; ++row) beams_.add(row, {0.0F, 0});
    }

    /// Descends until the beams consist of leaves.
    void find_leaves() {
        while (descend_level()) {
        }
    }

    /// Lists the best k labels of the leaves in the beams with their log scores, best leaves first,
    /// two at first and then twice as many each time: a leaf whose labels start below the worst of
    /// k labels already found cannot contribute.
    void rank_labels(std::int64_t k) {
        labels_.start(visits_.n_rows(), k);
        each_row([&](std::int64_t row, unsigned) { beams_.put_in_order(row); });
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
            visitor_.visit(visits_, rows_, labels_);
        }
    }

    /// Returns a bound on the score of the label at a place in the order of the tree; 0 if it is in
    /// no leaf of the beam.
    float most_at(std::int64_t row, std::int32_t place) const {
        const Scored* leaf = leaf_with(row, place);
        return leaf == nullptr ? 0.0F : std::exp(options_.score.start(leaf->score, true));
    }

    /// Sets the log scores of some labels of each row, whose ids are their places in the order of
    /// the tree; removes those that are in no leaf of the beam.
    void score_places(Shortlists& wanted) {
        visits_.choose([&](std::int64_t row, Vector<Visit>& visits) {
            const std::int64_t n = wanted.size(row);
            wanted.clear(row);
            for (std::int64_t i = 0; i < n; ++i) {
                const Scored label = wanted.items(row)[i];
                const Scored* leaf = leaf_with(row, label.id);
                if (leaf == nullptr) continue;
                wanted.add(row, label);
                visits.push_back({leaf->id, static_cast<std::int32_t>(row), leaf->score});
            }
        });
        outputs_.resize_for_overwrite(visits_.ordered().size());
        each_wanted(wanted, [&](const Scored& label, const Visit& visit) {
            outputs_[visit.place] = label.id - model_.tree.begin[visit.node];
        });
        visitor_.score_outputs(visits_, rows_, outputs_, scores_);
        each_wanted(wanted,
                    [&](Scored& label, const Visit& visit) { label.score = scores_[visit.place]; });
    }

    /// Calls body(row, worker) for all rows.
    template <class Body>
    void each_row(Body body) const {
        visits_.each_row(body);
    }

    /// The best nodes of each row; in no particular order before their labels are ranked.
    const Shortlists& beams() const { return beams_; }
    Shortlists& labels() { return labels_; }
    const Shortlists& labels() const { return labels_; }

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
        visitor_.visit(visits_, rows_, next_);
        std::swap(beams_, next_);
        return true;
    }

    /// Returns the leaf of the beam of a row that contains a place, or null.
    const Scored* leaf_with(std::int64_t row, std::int32_t place) const {
        const Scored* end = beams_.items(row) + beams_.size(row);
        const Scored* found = std::find_if(beams_.items(row), end, [&](const Scored& leaf) {
            return model_.tree.begin[leaf.id] <= place && place < model_.tree.end[leaf.id];
        });
        return found == end ? nullptr : found;
    }

    /// Calls body(label, visit) for the wanted labels, which are visited in their order.
    template <class Body>
    void each_wanted(Shortlists& wanted, Body body) const {
        visits_.each_row_with_visits(
            [&](std::int64_t row, const Visit* begin, const Visit* end, unsigned) {
                for (Scored* label = wanted.items(row); begin != end; ++begin) {
                    body(*label++, *begin);
                }
            });
    }

    const LabelTreeModel& model_;
    const BeamOptions& options_;
    Visitor& visitor_;
    const std::int32_t* rows_;
    Visits visits_;
    Shortlists beams_;  // nodes of each row
    Shortlists next_;
    Shortlists labels_;             // the best of each row
    Vector<std::int32_t> outputs_;  // of the places that are scored, by visit
    Vector<float> scores_;
};

}  // namespace defrag
