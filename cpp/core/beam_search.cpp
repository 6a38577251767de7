// SPDX-License-Identifier: BSD-3-Clause
#include "core/beam_search.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "core/aligned.hpp"
#include "core/visits.hpp"

namespace defrag {
namespace {

/// The best candidates of every row of a batch. Each row has cache lines of its own, since threads
/// that evaluate two nodes at a time visit neighbouring rows.
class BestLists {
 public:
    BestLists(std::int64_t n_rows, std::int64_t capacity)
        : capacity_(capacity),
          n_lines_((kHeaderSize + capacity * kItemSize + kLineSize - 1) / kLineSize) {
        lines_.require(checked_product(n_rows, n_lines_));
        for (std::int64_t row = 0; row < n_rows; ++row) new (&header(row)) Header();
    }

    Best of(std::int64_t row) { return {items(row), &header(row).size, capacity_}; }
    Scored* items(std::int64_t row) { return reinterpret_cast<Scored*>(line(row) + kHeaderSize); }
    std::int32_t size(std::int64_t row) { return header(row).size; }
    void clear(std::int64_t row) {
        header(row).size = 0;
        header(row).least.store(kLowest, std::memory_order_relaxed);
    }

    /// Two nodes that are evaluated concurrently may have a row in common. The order of the offers
    /// does not affect the result, since the order of candidates is total.
    void lock(std::int64_t row) {
        std::atomic<bool>& locked = header(row).locked;
        while (locked.exchange(true, std::memory_order_acquire)) {
            // A list is locked for some nanoseconds, unless its thread was interrupted.
            for (int spin = 0; locked.load(std::memory_order_relaxed); ++spin) {
                if (spin >= kMaxSpins) std::this_thread::yield();
            }
        }
    }
    void unlock(std::int64_t row) { header(row).locked.store(false, std::memory_order_release); }

    /// Candidates with a lower score will not be among the best: the worst score of a full list
    /// when it was last published. May be read without a lock.
    float least(std::int64_t row) { return header(row).least.load(std::memory_order_relaxed); }
    void publish(std::int64_t row) {
        const Best best = of(row);
        if (best.full()) header(row).least.store(best.worst().score, std::memory_order_relaxed);
    }

 private:
    struct Header {
        std::atomic<bool> locked{false};
        std::int32_t size = 0;
        std::atomic<float> least{kLowest};
    };
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    static constexpr int kMaxSpins = 1000;
    static constexpr float kLowest = -std::numeric_limits<float>::infinity();
    static constexpr std::int64_t kHeaderSize = 16;
    static constexpr std::int64_t kItemSize = sizeof(Scored);
    static constexpr std::int64_t kLineSize = sizeof(Line);
    static_assert(sizeof(Header) <= kHeaderSize && alignof(Scored) <= kHeaderSize);

    std::byte* line(std::int64_t row) { return lines_.data()[row * n_lines_].bytes; }
    Header& header(std::int64_t row) { return *reinterpret_cast<Header*>(line(row)); }

    std::int64_t capacity_;
    std::int64_t n_lines_;  // per row
    AlignedBuffer<Line> lines_;
};

/// The visits [begin, end) of one node, a unit of work for one thread, from visit `start` on.
struct Item {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t start;
    Panels panels;  // empty: the whole node, unpacked or searched

    /// Returns visit number i.
    std::int64_t visit(std::int64_t i) const {
        const std::int64_t visit = start + i;
        return visit < end ? visit : visit - (end - begin);
    }
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
          beams_(n_rows, options.beam_size),
          next_(n_rows, options.beam_size),
          top_(n_rows, options.k),
          groups_(context, [] { return Vector<std::int32_t>(); }) {
        for (std::int64_t row = 0; row < n_rows; ++row) beams_.of(row).offer({0.0F, 0});
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
        choose_visits([this](std::int64_t row, Vector<Visit>& visits) {
            next_.clear(row);
            for (std::int64_t i = 0; i < beams_.size(row); ++i) {
                const Scored& item = beams_.items(row)[i];
                if (model_.tree.is_leaf(item.id)) {
                    next_.of(row).offer(item);
                } else {
                    visits.push_back({item.id, static_cast<std::int32_t>(row), item.score});
                }
            }
        });
        if (visits_.empty()) return false;
        visit_all([this](const Visit& visit, const Outputs& outputs, const float* margins) {
            const std::int64_t child = model_.tree.first_child[visit.node] + outputs.first;
            offer(visit, margins, outputs.count, next_,
                  [child](std::int64_t i) { return static_cast<std::int32_t>(child + i); });
        });
        over_rows([this](std::int64_t row) { next_.of(row).put_in_order(); });
        std::swap(beams_, next_);
        return true;
    }

    /// Scores the labels of the leaves in the beams, best leaves first: a leaf that scores below
    /// the worst of k labels already found cannot contribute.
    void visit_leaves() {
        const bool prune = options_.discount >= 1.0F;
        std::int64_t first = 0;
        for (std::int64_t last = 2; first < options_.beam_size;
             first = std::exchange(last, 2 * last + 1)) {
            choose_visits([&](std::int64_t row, Vector<Visit>& visits) {
                const std::int64_t end = std::min<std::int64_t>(last, beams_.size(row));
                const Best best = top_.of(row);
                for (std::int64_t i = first; i < end; ++i) {
                    const Scored& item = beams_.items(row)[i];
                    if (prune && best.full() && item.score < best.worst().score) break;
                    visits.push_back({item.id, static_cast<std::int32_t>(row), item.score});
                }
            });
            visit_all([this](const Visit& visit, const Outputs& outputs, const float* margins) {
                const std::int32_t* labels =
                    model_.tree.order + model_.tree.begin[visit.node] + outputs.first;
                offer(visit, margins, outputs.count, top_,
                      [labels](std::int64_t i) { return labels[i]; });
            });
        }
    }

    /// Sets the visits, ordered by node; choose(row, visits) appends those of one row.
    template <class Choose>
    void choose_visits(Choose choose) {
        chosen_.resize(n_threads_);
        const auto for_each = [&](std::int64_t n, const auto& body) {
            if (n == 1) {
                body(0);
            } else {
                parallel_for(context_, n, 1,
                             [&](std::int64_t i, std::int64_t, unsigned) { body(i); });
            }
        };
        for_each(n_threads_, [&](std::int64_t range) {
            Vector<Visit> visits = std::move(chosen_[range]);
            visits.clear();
            const std::int64_t end = (range + 1) * n_rows_ / n_threads_;
            for (std::int64_t row = range * n_rows_ / n_threads_; row < end; ++row) {
                choose(row, visits);
            }
            chosen_[range] = std::move(visits);
        });
        order_by_node(chosen_.data(), n_threads_, visits_, for_each);
    }

    /// A range of outputs of a node that were evaluated together.
    struct Outputs {
        std::int64_t first;
        std::int64_t count;
    };

    /// Evaluates the nodes of all visits and calls receive(visit, outputs, margins).
    template <class Receive>
    void visit_all(Receive receive) {
        make_items();
        const auto evaluate = [&](std::int64_t i, std::int64_t, unsigned worker) {
            const Item& item = items_[i];
            const std::int32_t node = visits_[item.begin].node;
            const std::int64_t n_outputs = model_.tree.n_outputs(node);
            Outputs outputs{0, n_outputs};
            const auto visit = [&](std::int64_t v, const float* margins) {
                receive(visits_[item.visit(v)], outputs, margins);
            };
            const Vector<std::int32_t>& rows = rows_of(item, groups_[worker]);
            if (item.panels.first == item.panels.last) {
                scorers_[worker].score(node, rows.data(), rows.size(), visit);
            } else {
                outputs.first = item.panels.first * kLanes;
                outputs.count = std::min(item.panels.last * kLanes, n_outputs) - outputs.first;
                scorers_[worker].score(node, item.panels, rows.data(), rows.size(), visit);
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
                              worth_unpacking(node, {begin, end, begin, Panels()});
            const std::int64_t panels_per_item = wide ? NodeScorer::kPanelsPerTurn : n_panels;
            const std::int64_t n_parts = (n_panels + panels_per_item - 1) / panels_per_item;
            const bool large = n_threads_ > 1 && count * kLargeShare >= n_rows_;
            const std::int64_t rows_per_item =
                large ? (count * n_parts + n_threads_ - 1) / n_threads_ : count;
            for (std::int64_t first = begin; first < end; first += rows_per_item) {
                const std::int64_t last = std::min(first + rows_per_item, end);
                for (std::int64_t part = 0; part < n_parts; ++part) {
                    const std::int64_t panel = part * panels_per_item;
                    const Panels some{panel, std::min(panel + panels_per_item, n_panels)};
                    // Threads that start at different rows seldom wait for each other's lists.
                    const std::int64_t turn = items_.size() % n_threads_;
                    const std::int64_t start = first + turn * (last - first) / n_threads_;
                    items_.push_back({first, last, start, wide ? some : Panels()});
                }
            }
            begin = end;
        }
    }

    bool worth_unpacking(std::int32_t node, const Item& item) {
        const Vector<std::int32_t>& rows = rows_of(item, groups_[0]);
        return scorers_[0].worth_unpacking(node, rows.data(), rows.size());
    }

    /// Fills `rows` with the rows of X of the visits of an item.
    const Vector<std::int32_t>& rows_of(const Item& item, Vector<std::int32_t>& rows) const {
        rows.resize_for_overwrite(item.end - item.begin);
        for (std::int64_t v = 0; v < rows.size(); ++v) {
            rows[v] = static_cast<std::int32_t>(first_row_ + visits_[item.visit(v)].row);
        }
        return rows;
    }

    /// Offers the outputs of a node to the list of a row; output i has the id id_of(i). Hinges are
    /// computed for a line of outputs at a time, so that once a list is full most outputs are
    /// rejected without being examined individually, and most visits need no lock.
    template <class Id>
    void offer(const Visit& visit, const float* margins, std::int64_t n_outputs, BestLists& lists,
               Id id_of) {
        const bool shared = n_threads_ > 1;
        bool locked = false;
        const auto lock = [&] {
            if (shared && !locked) lists.lock(visit.row);
            locked = true;
        };
        Best best = lists.of(visit.row);
        if (options_.loss == Loss::kLogistic) {
            lock();
            for (std::int64_t i = 0; i < n_outputs; ++i) {
                best.offer({descend(options_.loss, options_.power, options_.discount, visit.score,
                                    margins[i]),
                            id_of(i)});
            }
        } else {
            const float from = visit.score * options_.discount;
            alignas(64) float scores[kLanes];
            for (std::int64_t first = 0; first < n_outputs; first += kLanes) {
                const std::int64_t n_lanes = std::min(kLanes, n_outputs - first);
                const float least = lists.least(visit.row);
                unsigned lanes = score_lanes_(margins + first, from, options_.power, least, scores);
                lanes &= (1U << n_lanes) - 1U;
                if (lanes == 0) continue;
                lock();
                for (; lanes != 0; lanes &= lanes - 1) {
                    const int lane = __builtin_ctz(lanes);
                    best.offer({scores[lane], id_of(first + lane)});
                }
                lists.publish(visit.row);
            }
        }
        if (shared && locked) lists.unlock(visit.row);
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
    BestLists beams_;  // put in order
    BestLists next_;
    BestLists top_;
    Vector<Vector<Visit>> chosen_;  // of each range of rows
    Vector<Visit> visits_;          // ordered by node
    Vector<Item> items_;
    PerWorker<Vector<std::int32_t>> groups_;  // scratch: rows of an item
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
