// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/beam_search.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/search/shortlists.hpp"
#include "core/search/visits.hpp"

namespace defrag {
namespace {

/// Memory that the batches of a search reuse.
struct Workspace {
    Workspace(const Context& context, const LabelTreeModel& model, const CsrView& X,
              Instructions instructions)
        : scorers(context,
                  [&model, &X, instructions] { return NodeScorer(model, X, instructions); }),
          shared(model, X) {}

    PerWorker<NodeScorer> scorers;
    NodePanels shared;  // of a node that all threads evaluate together
};

/// The search of one batch of rows, using all threads of the context: a node is unpacked once for
/// all its rows.
class Batch {
 public:
    Batch(const Context& context, const LabelTreeModel& model, const BeamOptions& options,
          Workspace& workspace, std::int64_t first_row, std::int64_t n_rows)
        : context_(context),
          model_(model),
          options_(options),
          workspace_(workspace),
          score_margins_(select_score_margins(options.instructions)),
          find_best_(select_find_best(options.instructions)),
          first_row_(first_row),
          n_rows_(n_rows),
          // Small batches do not repay the cost of starting threads.
          n_threads_(n_rows < kMinBatch ? 1 : context.n_threads()),
          chosen_(n_threads_),
          scratch_(context, [&options] { return Scratch(options.instructions); }) {
        for (Shortlists* beams : {&beams_, &next_}) beams->start(n_rows, options.beam_size);
        top_.start(n_rows, options.k);
        for (std::int64_t row = 0; row < n_rows; ++row) beams_.add(row, {0.0F, 0});
    }

    void run(TopLabels& out) {
        while (descend_level()) {
        }
        visit_leaves();
        over_rows([&](std::int64_t row) {
            write_top(top_.items(row), top_.size(row), first_row_ + row, out);
        });
    }

 private:
    /// Memory that a thread reuses.
    struct Scratch {
        explicit Scratch(Instructions instructions) : selector(instructions) {}

        Selector selector;
        Vector<std::int32_t> rows;
    };

    /// Calls body(range, worker) for as many ranges of rows as there are threads, in parallel.
    template <class Body>
    void over_ranges(Body body) {
        if (n_threads_ == 1) {
            body(0, 0);
        } else {
            parallel_for(
                context_, n_threads_, 1,
                [&](std::int64_t range, std::int64_t, unsigned worker) { body(range, worker); });
        }
    }

    template <class Body>
    void over_rows(std::int64_t range, Body body) {
        const auto [begin, end] = part_of(n_rows_, range, n_threads_);
        for (std::int64_t row = begin; row < end; ++row) body(row);
    }

    template <class Body>
    void over_rows(Body body) {
        over_ranges([&](std::int64_t range, unsigned) { over_rows(range, body); });
    }

    /// Replaces the inner nodes of all beams by their children; returns false if there are none.
    bool descend_level() {
        choose_visits([this](std::int64_t row, Vector<Visit>& visits) {
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
        visit_all(next_, [this](std::int32_t node, std::int64_t output) {
            return static_cast<std::int32_t>(model_.tree.first_child[node] + output);
        });
        std::swap(beams_, next_);
        return true;
    }

    /// Scores the labels of the leaves in the beams, best leaves first: a leaf that scores below
    /// the worst of k labels already found cannot contribute.
    void visit_leaves() {
        const bool prune = options_.discount >= 1.0F;
        over_rows([&](std::int64_t row) { beams_.put_in_order(row); });
        std::int64_t first = 0;
        for (std::int64_t last = 2; first < options_.beam_size;
             first = std::exchange(last, 2 * last + 1)) {
            choose_visits([&](std::int64_t row, Vector<Visit>& visits) {
                const std::int64_t end = std::min(last, beams_.size(row));
                const float bound = top_.bound(row);
                for (std::int64_t i = first; i < end; ++i) {
                    const Scored& leaf = beams_.items(row)[i];
                    if (prune && leaf.score < bound) break;
                    visits.push_back({leaf.id, static_cast<std::int32_t>(row), leaf.score, bound});
                }
            });
            visit_all(top_, [this](std::int32_t node, std::int64_t output) {
                return model_.tree.order[model_.tree.begin[node] + output];
            });
        }
    }

    /// Sets the visits, ordered by node; choose(row, visits) appends those of one row.
    template <class Choose>
    void choose_visits(Choose choose) {
        over_ranges([&](std::int64_t range, unsigned) {
            Vector<Visit> visits = std::move(chosen_[range]);
            visits.clear();
            over_rows(range, [&](std::int64_t row) { choose(row, visits); });
            chosen_[range] = std::move(visits);
        });
        order_by_node(chosen_.data(), n_threads_, visits_, [this](std::int64_t, const auto& body) {
            over_ranges([&](std::int64_t range, unsigned) { body(range); });
        });
    }

    /// Evaluates the nodes of all visits and adds the best outputs to the lists of the rows; output
    /// i of a node has the id id_of(node, i). Outputs are first listed by visit, then by row: nodes
    /// that are evaluated concurrently have rows in common, and threads that write to the same
    /// lists would exchange cache lines all the time.
    template <class Id>
    void visit_all(Shortlists& lists, Id id_of) {
        if (visits_.empty()) return;
        make_items();
        // Selecting more than kLanes is expensive, and done once per row instead of per visit.
        const std::int64_t capacity = lists.capacity() <= kLanes
                                          ? lists.capacity()
                                          : std::max(lists.capacity(), kOutputsAtOnce);
        found_.start(visits_.size(), std::min(capacity, most_outputs()));
        const auto evaluate = [&](std::int64_t i, std::int64_t, unsigned worker) {
            const Range& item = items_[i];
            Scratch& scratch = scratch_[worker];
            const Vector<std::int32_t>& rows = rows_of(item, scratch.rows);
            workspace_.scorers[worker].score(visits_[item.begin].node, rows.data(), rows.size(),
                                             lister(item, scratch.selector, id_of));
            context_.check();
        };
        if (n_threads_ == 1) {
            for (std::int64_t i = 0; i < items_.size(); ++i) evaluate(i, i + 1, 0);
        } else {
            for (const Range& item : shared_items_) evaluate_together(item, id_of);
            parallel_for(context_, items_.size(), 1, evaluate);
        }
        over_ranges([&](std::int64_t range, unsigned worker) {
            collect(chosen_[range], lists, scratch_[worker].selector);
        });
    }

    /// Adds what the visits of a range of rows have found to the lists of the rows.
    void collect(const Vector<Visit>& visits, Shortlists& lists, Selector& selector) const {
        for (std::int64_t begin = 0; begin < visits.size();) {
            const std::int32_t row = visits[begin].row;
            selector.clear();
            std::int64_t end = begin;
            for (; end < visits.size() && visits[end].row == row; ++end) {
                selector.add(found_, visits[end].place);
            }
            begin = end;
            if (selector.size() > 0) {
                selector.add(lists, row);
                selector.assign_to(lists, row);
            }
        }
    }

    /// Evaluates the node of an item with all threads: they unpack it once for all of them, and
    /// divide its rows.
    template <class Id>
    void evaluate_together(const Range& item, Id id_of) {
        const std::int32_t node = visits_[item.begin].node;
        const Vector<std::int32_t>& rows = rows_of(item, shared_rows_);
        NodePanels& panels = workspace_.shared;
        panels.choose(node, rows.data(), rows.size());
        NodeScorer::for_each_turn(model_.tree.n_outputs(node), [&](const Panels& turn) {
            panels.unpack(turn, &context_);
            const auto score_rows = [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                workspace_.scorers[worker].score_unpacked(
                    panels, node, rows.data(), {begin, end},
                    lister(item, scratch_[worker].selector, id_of));
            };
            parallel_for(context_, rows.size(), kMinBatch, score_rows);
        });
        panels.forget(rows.data(), rows.size());
    }

    /// Divides the visits, which are ordered by node, into items. A node whose visits would keep a
    /// thread busy to the end is shared by all threads. Others have an item, or several if they are
    /// large, and threads take large items first.
    void make_items() {
        items_.clear();
        shared_items_.clear();
        for (std::int64_t begin = 0; begin < visits_.size();) {
            const std::int32_t node = visits_[begin].node;
            std::int64_t end = begin;
            while (end < visits_.size() && visits_[end].node == node) ++end;
            add_node({begin, end});
            begin = end;
        }
        if (n_threads_ == 1) return;
        std::sort(items_.begin(), items_.end(),
                  [](const Range& a, const Range& b) { return a.size() > b.size(); });
    }

    void add_node(const Range& all) {
        const std::int64_t count = all.size();
        if (n_threads_ > 1 && count * n_threads_ >= visits_.size()) {
            const Vector<std::int32_t>& rows = rows_of(all, shared_rows_);
            if (workspace_.scorers[0].worth_unpacking(visits_[all.begin].node, rows.data(),
                                                      count)) {
                shared_items_.push_back(all);
                return;
            }
        }
        const std::int64_t n_parts = std::min(
            {n_threads_, count, 1 + count * n_threads_ * kItemsPerThread / visits_.size()});
        for (std::int64_t part = 0; part < n_parts; ++part) {
            const auto [begin, end] = part_of(count, part, n_parts);
            items_.push_back({all.begin + begin, all.begin + end});
        }
    }

    /// Returns the largest number of outputs of a node that is visited.
    std::int64_t most_outputs() const {
        std::int64_t most = 0;
        for (const Vector<Range>* items : {&items_, &shared_items_}) {
            for (const Range& item : *items) {
                most = std::max(most, model_.tree.n_outputs(visits_[item.begin].node));
            }
        }
        return most;
    }

    /// Fills `rows` with the rows of X of the visits of an item.
    const Vector<std::int32_t>& rows_of(const Range& item, Vector<std::int32_t>& rows) const {
        rows.resize_for_overwrite(item.size());
        for (std::int64_t v = 0; v < rows.size(); ++v) {
            rows[v] = static_cast<std::int32_t>(first_row_ + visits_[item.begin + v].row);
        }
        return rows;
    }

    /// Returns a function that adds outputs to the list of a visit, which is given by its number
    /// within the item.
    template <class Id>
    auto lister(const Range& item, Selector& selector, Id id_of) {
        return [this, &item, &selector, id_of](std::int64_t v, const Outputs& outputs,
                                               const float* margins) {
            list_outputs(item.begin + v, outputs, margins, id_of, selector);
        };
    }

    /// Adds outputs of a node to the list of a visit.
    template <class Id>
    void list_outputs(std::int64_t place, const Outputs& outputs, const float* margins, Id id_of,
                      Selector& selector) {
        const Visit& visit = visits_[place];
        alignas(64) float scores[kOutputsAtOnce];
        std::int32_t positions[kOutputsAtOnce];
        for (std::int64_t first = 0; first < outputs.count; first += kOutputsAtOnce) {
            const std::int64_t n = std::min(kOutputsAtOnce, outputs.count - first);
            score(visit, margins + first, n, scores);
            const auto id_at = [&](std::int64_t position) {
                return id_of(visit.node, outputs.first + first + position);
            };
            const float bound = std::max(visit.bound, found_.bound(place));
            if (bound == kNoBound && found_.size(place) + n <= found_.capacity()) {
                found_.add(place, n, [&](std::int64_t i) { return Scored{scores[i], id_at(i)}; });
                continue;
            }
            const std::int64_t n_found = find_best_(scores, n, found_.capacity(), bound, positions);
            const auto item_at = [&](std::int64_t i) {
                return Scored{scores[positions[i]], id_at(positions[i])};
            };
            if (found_.size(place) + n_found <= found_.capacity()) {
                found_.add(place, n_found, item_at);
            } else {
                selector.clear();
                selector.add(found_, place);
                selector.add(n_found, item_at);
                selector.assign_to(found_, place);
            }
        }
    }

    /// Writes the scores of n outputs of the node of a visit.
    void score(const Visit& visit, const float* margins, std::int64_t n, float* scores) const {
        if (options_.loss != Loss::kLogistic) {
            const float parent = visit.score * options_.discount;
            return score_margins_(margins, n, parent, options_.power, scores);
        }
        for (std::int64_t i = 0; i < n; ++i) {
            scores[i] =
                descend(options_.loss, options_.power, options_.discount, visit.score, margins[i]);
        }
    }

    static constexpr std::int64_t kOutputsAtOnce = NodeScorer::kPanelsPerTurn * kLanes;
    // Nodes are divided until no item exceeds the average share of a thread, divided by this.
    static constexpr std::int64_t kItemsPerThread = 4;

    const Context& context_;
    const LabelTreeModel& model_;
    const BeamOptions& options_;
    Workspace& workspace_;
    ScoreMargins score_margins_;
    FindBest find_best_;
    std::int64_t first_row_;
    std::int64_t n_rows_;
    std::int64_t n_threads_;
    Shortlists beams_;  // nodes of each row
    Shortlists next_;
    Shortlists top_;                // labels of each row
    Shortlists found_;              // outputs of each visit
    Vector<Vector<Visit>> chosen_;  // of each range of rows
    Vector<Visit> visits_;          // ordered by node
    Vector<Range> items_;           // visits of a node, or some of them, for one thread
    Vector<Range> shared_items_;    // visits of a node, for all threads
    Vector<std::int32_t> shared_rows_;
    PerWorker<Scratch> scratch_;
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
    Workspace workspace(context, model, X, bounded.instructions);
    for (std::int64_t first = 0; first < X.n_rows; first += kMaxBatch) {
        const std::int64_t n_rows = std::min(kMaxBatch, X.n_rows - first);
        Batch(context, model, bounded, workspace, first, n_rows).run(result);
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
