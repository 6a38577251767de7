// SPDX-License-Identifier: BSD-3-Clause
#include "core/beam_search.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/visits.hpp"

namespace defrag {
namespace {

/// One spin lock per row: two nodes that are evaluated concurrently may have a row in common. The
/// order of insertion does not affect the result, since the order of candidates is total.
class RowLocks {
 public:
    /// With n_rows = 0, locking is a no-op.
    explicit RowLocks(std::int64_t n_rows) : flags_(n_rows) {}

    void lock(std::int64_t row) {
        if (flags_.empty()) return;
        while (flags_[row].exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    void unlock(std::int64_t row) {
        if (!flags_.empty()) flags_[row].store(false, std::memory_order_release);
    }

 private:
    Vector<std::atomic<bool>> flags_;
};

/// The visits [begin, end) of one node, a unit of work for one thread.
struct Item {
    std::int64_t begin;
    std::int64_t end;
    Panels panels;  // empty: the whole node, unpacked or searched
};

/// The search of one batch of rows, using all threads of the context: a node is unpacked once for
/// all its rows.
class Batch {
 public:
    Batch(const Context& context, const LabelTreeModel& model, const BeamOptions& options,
          PerWorker<NodeScorer>& scorers, std::int64_t first_row, std::int64_t n_rows)
        : context_(context),
          model_(model),
          options_(options),
          scorers_(scorers),
          score_lanes_(select_score_lanes(options.instructions)),
          first_row_(first_row),
          n_rows_(n_rows),
          // Small batches do not repay the cost of starting threads.
          n_threads_(n_rows < kMinBatch ? 1 : context.n_threads()),
          beams_(n_rows * options.beam_size),
          next_(n_rows * options.beam_size),
          top_(n_rows * options.k),
          beam_sizes_(n_rows, 1),
          next_sizes_(n_rows),
          top_sizes_(n_rows),
          locks_(n_threads_ > 1 ? n_rows : 0) {
        for (std::int64_t row = 0; row < n_rows; ++row)
            beams_[row * options_.beam_size] = {0.0F, 0};
    }

    void run(TopLabels& out) {
        while (descend_level()) {
        }
        visit_leaves();
        over_rows([&](std::int64_t row) {
            write_top(top_.data() + row * options_.k, top_sizes_[row], first_row_ + row, out);
        });
    }

 private:
    Best next_of(std::int64_t row) {
        return {next_.data() + row * options_.beam_size, &next_sizes_[row], options_.beam_size};
    }
    Best top_of(std::int64_t row) {
        return {top_.data() + row * options_.k, &top_sizes_[row], options_.k};
    }

    template <class Body>
    void over_rows(Body body) {
        const auto run = [&](std::int64_t begin, std::int64_t end, unsigned) {
            for (std::int64_t row = begin; row < end; ++row) body(row);
        };
        if (n_threads_ == 1) {
            run(0, n_rows_, 0);
        } else {
            parallel_for(context_, n_rows_, kMinBatch, run);
        }
    }

    /// Replaces the inner nodes of all beams by their children; returns false if there are none.
    bool descend_level() {
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
        visit_all([this](const Visit& visit, const Outputs& outputs, const float* margins) {
            const std::int64_t child = model_.tree.first_child[visit.node] + outputs.first;
            offer(visit.score, margins, outputs.count, next_of(visit.row),
                  [child](std::int64_t i) { return static_cast<std::int32_t>(child + i); });
        });
        over_rows([this](std::int64_t row) { next_of(row).put_in_order(); });
        beams_.swap(next_);
        beam_sizes_.swap(next_sizes_);
        return true;
    }

    /// Scores the labels of the leaves in the beams, best leaves first: a leaf that scores below
    /// the worst of k labels already found cannot contribute.
    void visit_leaves() {
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
            visit_all([this](const Visit& visit, const Outputs& outputs, const float* margins) {
                const std::int32_t* labels =
                    model_.tree.order + model_.tree.begin[visit.node] + outputs.first;
                offer(visit.score, margins, outputs.count, top_of(visit.row),
                      [labels](std::int64_t i) { return labels[i]; });
            });
        }
    }

    /// A range of outputs of a node that were evaluated together.
    struct Outputs {
        std::int64_t first;
        std::int64_t count;
    };

    /// Evaluates the nodes of all visits and calls receive(visit, outputs, margins), never
    /// concurrently for the same row.
    template <class Receive>
    void visit_all(Receive receive) {
        order_by_node(visits_);
        group_.clear();
        for (const Visit& visit : visits_) {
            group_.push_back(static_cast<std::int32_t>(first_row_ + visit.row));
        }
        make_items();
        const auto evaluate = [&](std::int64_t i, std::int64_t, unsigned worker) {
            const Item& item = items_[i];
            const std::int32_t node = visits_[item.begin].node;
            const std::int64_t n_outputs = model_.tree.n_outputs(node);
            Outputs outputs{0, n_outputs};
            const auto visit = [&](std::int64_t v, const float* margins) {
                const Visit& one = visits_[item.begin + v];
                locks_.lock(one.row);
                receive(one, outputs, margins);
                locks_.unlock(one.row);
            };
            const std::int32_t* rows = group_.data() + item.begin;
            if (item.panels.first == item.panels.last) {
                scorers_[worker].score(node, rows, item.end - item.begin, visit);
            } else {
                outputs.first = item.panels.first * kLanes;
                outputs.count = std::min(item.panels.last * kLanes, n_outputs) - outputs.first;
                scorers_[worker].score(node, item.panels, rows, item.end - item.begin, visit);
            }
            context_.check();
        };
        if (n_threads_ == 1) {
            for (std::int64_t i = 0; i < items_.size(); ++i) evaluate(i, i + 1, 0);
        } else {
            parallel_for(context_, items_.size(), 1, evaluate);
        }
    }

    /// Divides the visits, which are ordered by node, into items: one per node, but several for a
    /// wide node, to keep its panels small, and for a node with a large share of the rows, to keep
    /// all threads busy.
    void make_items() {
        items_.clear();
        for (std::int64_t begin = 0; begin < visits_.size();) {
            const std::int32_t node = visits_[begin].node;
            std::int64_t end = begin;
            while (end < visits_.size() && visits_[end].node == node) ++end;
            const std::int64_t count = end - begin;
            const std::int64_t n_panels = scorers_[0].n_panels(node);
            const bool wide = n_panels > NodeScorer::kPanelsPerTurn &&
                              scorers_[0].worth_unpacking(node, group_.data() + begin, count);
            const std::int64_t panels_per_item = wide ? NodeScorer::kPanelsPerTurn : n_panels;
            const std::int64_t n_parts = (n_panels + panels_per_item - 1) / panels_per_item;
            const bool large = n_threads_ > 1 && count * kLargeShare >= n_rows_;
            const std::int64_t rows_per_item =
                large ? (count * n_parts + n_threads_ - 1) / n_threads_ : count;
            for (std::int64_t first = begin; first < end; first += rows_per_item) {
                const std::int64_t last = std::min(first + rows_per_item, end);
                for (std::int64_t panel = 0; panel < n_panels; panel += panels_per_item) {
                    const Panels some{panel, std::min(panel + panels_per_item, n_panels)};
                    items_.push_back({first, last, wide ? some : Panels()});
                }
            }
            begin = end;
        }
    }

    /// Offers the outputs of a node with score `parent`; output i has the id id_of(i). Hinges are
    /// computed for a line of outputs at a time, so that once a list is full most outputs are
    /// rejected without being examined individually.
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

    // A node with at least 1 / kLargeShare of the rows is divided between the threads.
    static constexpr std::int64_t kLargeShare = 8;

    const Context& context_;
    const LabelTreeModel& model_;
    const BeamOptions& options_;
    PerWorker<NodeScorer>& scorers_;
    ScoreLanes score_lanes_;
    std::int64_t first_row_;
    std::int64_t n_rows_;
    std::int64_t n_threads_;
    Vector<Scored> beams_;  // [row][beam_size], best first
    Vector<Scored> next_;
    Vector<Scored> top_;  // [row][k], best first
    Vector<std::int32_t> beam_sizes_;
    Vector<std::int32_t> next_sizes_;
    Vector<std::int32_t> top_sizes_;
    RowLocks locks_;
    Vector<Visit> visits_;
    Vector<std::int32_t> group_;  // row of X of each visit
    Vector<Item> items_;
};

}  // namespace

TopLabels beam_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                      const BeamOptions& options) {
    if (options.beam_size < 1) {
        throw std::invalid_argument("beam_size must be at least 1, got " +
                                    std::to_string(options.beam_size));
    }
    BeamOptions bounded = options;  // a beam never holds more nodes than exist
    bounded.beam_size = std::min(options.beam_size, std::max<std::int64_t>(model.tree.n_nodes, 1));
    context.expect(X.n_rows);
    TopLabels result(X.n_rows, bounded.k);
    if (model.tree.n_nodes == 0) return result;
    PerWorker<NodeScorer> scorers(context,
                                  [&] { return NodeScorer(model, X, bounded.instructions); });
    for (std::int64_t first = 0; first < X.n_rows; first += kMaxBatch) {
        const std::int64_t n_rows = std::min(kMaxBatch, X.n_rows - first);
        Batch(context, model, bounded, scorers, first, n_rows).run(result);
        context.advance(n_rows);
    }
    return result;
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
            // Stable, so that the scores of a label are added in the order of the trees.
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
