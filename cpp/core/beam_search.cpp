// SPDX-License-Identifier: BSD-3-Clause
#include "core/beam_search.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/visits.hpp"

namespace defrag {
namespace {

/// The walk of one batch of rows.
class Batch {
 public:
    Batch(const Context& context, const LabelTreeModel& model, const BeamOptions& options)
        : context_(context),
          model_(model),
          options_(options),
          score_lanes_(select_score_lanes(options.instructions)) {}

    void run(std::int64_t first_row, std::int64_t n_rows, NodeScorer& scorer, TopLabels& out) {
        first_row_ = first_row;
        n_rows_ = n_rows;
        beams_.resize(n_rows * options_.beam_size);
        next_.resize(beams_.size());
        top_.resize(n_rows * options_.k);
        beam_sizes_.assign(n_rows, 1);
        top_sizes_.assign(n_rows, 0);
        for (std::int64_t row = 0; row < n_rows; ++row)
            beams_[row * options_.beam_size] = {0.0F, 0};
        while (descend_level(scorer)) {
        }
        visit_leaves(scorer);
        write(out);
    }

 private:
    Best next_of(std::int64_t row) {
        return {next_.data() + row * options_.beam_size, &next_sizes_[row], options_.beam_size};
    }
    Best top_of(std::int64_t row) {
        return {top_.data() + row * options_.k, &top_sizes_[row], options_.k};
    }

    /// Replaces the inner nodes of all beams by their children; false when there are none.
    bool descend_level(NodeScorer& scorer) {
        visits_.clear();
        next_sizes_.assign(n_rows_, 0);
        for (std::int64_t row = 0; row < n_rows_; ++row) {
            for (std::int64_t i = 0; i < beam_sizes_[row]; ++i) {
                const Scored& item = beams_[row * options_.beam_size + i];
                if (model_.tree.is_leaf(item.id)) {
                    next_of(row).offer(item);
                } else {
                    visits_.push_back({item.id, static_cast<std::int32_t>(row), item.score});
                }
            }
        }
        if (visits_.empty()) return false;
        visit_all(scorer, [this](const Visit& visit, const float* margins) {
            const std::int32_t first = model_.tree.first_child[visit.node];
            offer(visit.score, margins, model_.tree.n_children[visit.node], next_of(visit.row),
                  [first](std::int64_t i) { return static_cast<std::int32_t>(first + i); });
        });
        for (std::int64_t row = 0; row < n_rows_; ++row) next_of(row).put_in_order();
        beams_.swap(next_);
        beam_sizes_.swap(next_sizes_);
        return true;
    }

    /// Scores the labels of the leaves in the beams, the best leaves first: a leaf below the
    /// worst of k labels already found has nothing to add.
    void visit_leaves(NodeScorer& scorer) {
        const bool prune = options_.discount >= 1.0F;
        std::int64_t first = 0;
        for (std::int64_t last = 2; first < options_.beam_size;
             first = std::exchange(last, 2 * last + 1)) {
            visits_.clear();
            for (std::int64_t row = 0; row < n_rows_; ++row) {
                const std::int64_t end = std::min<std::int64_t>(last, beam_sizes_[row]);
                const Best best = top_of(row);
                for (std::int64_t i = first; i < end; ++i) {
                    const Scored& item = beams_[row * options_.beam_size + i];
                    if (prune && best.full() && item.score < best.worst().score) break;
                    visits_.push_back({item.id, static_cast<std::int32_t>(row), item.score});
                }
            }
            visit_all(scorer, [this](const Visit& visit, const float* margins) {
                const std::int32_t begin = model_.tree.begin[visit.node];
                const std::int32_t* labels = model_.tree.order + begin;
                offer(visit.score, margins, model_.tree.end[visit.node] - begin, top_of(visit.row),
                      [labels](std::int64_t i) { return labels[i]; });
            });
        }
    }

    template <class Receive>
    void visit_all(NodeScorer& scorer, Receive receive) {
        visit_nodes(context_, scorer, visits_, group_, first_row_, receive);
    }

    /// Offers the outputs of a node below the score `parent`; output i is id_of(i). Hinges are
    /// computed for a line of outputs at a time, and of a full list most outputs are seen to be
    /// below its worst item without a look at each.
    template <class Id>
    void offer(float parent, const float* margins, std::int64_t n_outputs, Best best, Id id_of) {
        if (options_.loss == Loss::kLogistic) {
            for (std::int64_t i = 0; i < n_outputs; ++i) {
                best.offer(
                    {descend(options_.loss, options_.power, options_.discount, parent, margins[i]),
                     id_of(i)});
            }
            return;
        }
        const float from = parent * options_.discount;
        alignas(64) float scores[kLanes];
        for (std::int64_t first = 0; first < n_outputs; first += kLanes) {
            const std::int64_t n_lanes = std::min(kLanes, n_outputs - first);
            const float least =
                best.full() ? best.worst().score : -std::numeric_limits<float>::infinity();
            unsigned lanes = score_lanes_(margins + first, from, options_.power, least, scores);
            for (lanes &= (1U << n_lanes) - 1U; lanes != 0; lanes &= lanes - 1) {
                const int lane = __builtin_ctz(lanes);
                best.offer({scores[lane], id_of(first + lane)});
            }
        }
    }

    void write(TopLabels& out) {
        for (std::int64_t row = 0; row < n_rows_; ++row) {
            write_top(top_.data() + row * options_.k, top_sizes_[row], first_row_ + row, out);
        }
    }

    const Context& context_;
    const LabelTreeModel& model_;
    const BeamOptions& options_;
    ScoreLanes score_lanes_;
    std::int64_t first_row_ = 0;
    std::int64_t n_rows_ = 0;
    Vector<Scored> beams_;  // [row][beam_size], best first
    Vector<Scored> next_;
    Vector<Scored> top_;  // [row][k], best first
    Vector<std::int32_t> beam_sizes_;
    Vector<std::int32_t> next_sizes_;
    Vector<std::int32_t> top_sizes_;
    Vector<Visit> visits_;
    Vector<std::int32_t> group_;
};

}  // namespace

TopLabels beam_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                      const BeamOptions& options) {
    if (options.beam_size < 1) {
        throw std::invalid_argument("beam_size must be at least 1, got " +
                                    std::to_string(options.beam_size));
    }
    BeamOptions bounded = options;  // no beam holds more nodes than there are
    bounded.beam_size = std::min(options.beam_size, std::max<std::int64_t>(model.tree.n_nodes, 1));
    return search_batches<Batch>(context, model, X, bounded);
}

TopLabels average_trees(const Context& context, const Vector<TopLabels>& trees, std::int64_t n_rows,
                        std::int64_t k) {
    TopLabels result(n_rows, k);
    const auto n_trees = static_cast<float>(trees.size());
    parallel_for(context, n_rows, kMinBatch, [&](std::int64_t begin, std::int64_t end, unsigned) {
        Vector<Scored> all;
        for (std::int64_t row = begin; row < end; ++row) {
            all.clear();
            for (const TopLabels& tree : trees) {
                for (std::int64_t i = row * tree.k; i < (row + 1) * tree.k; ++i) {
                    if (tree.labels[i] >= 0) all.push_back({tree.scores[i], tree.labels[i]});
                }
            }
            // Stable: the scores of a label are added in the order of the trees.
            std::stable_sort(all.begin(), all.end(),
                             [](const Scored& a, const Scored& b) { return a.id < b.id; });
            std::int64_t n = 0;
            for (std::int64_t i = 0; i < all.size(); ++i) {
                if (n > 0 && all[n - 1].id == all[i].id) {
                    all[n - 1].score += all[i].score;
                } else {
                    all[n++] = all[i];
                }
            }
            for (std::int64_t i = 0; i < n; ++i) all[i].score /= n_trees;
            all.resize(n);
            top_n(all, k, better);
            std::sort(all.begin(), all.end(), better);
            for (std::int64_t i = 0; i < all.size(); ++i) {
                result.labels[row * k + i] = all[i].id;
                result.scores[row * k + i] = all[i].score;
            }
        }
        context.check();
    });
    return result;
}

}  // namespace defrag
