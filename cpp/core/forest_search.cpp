// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/feature_hash.hpp"
#include "core/ranking.hpp"

namespace defrag {
namespace {

// Rows that pass a tree together: its nodes stay in the cache.
constexpr std::int64_t kRowsPerBlock = 64;

/// A row as a dense vector over the features that are used, zero between rows.
class DenseRow {
 public:
    explicit DenseRow(std::int64_t n_slots) : values_(n_slots) {}

    /// Puts a row on the slots of its features, which rise.
    void spread(const CsrView& X, std::int64_t row, const std::int32_t* features, std::int64_t n) {
        const std::int32_t* place = features;
        const std::int32_t* end = features + n;
        for (auto p = X.begin(row); p < X.end(row); ++p) {
            place = std::lower_bound(place, end, X.indices[p]);
            if (place == end) break;
            if (*place == X.indices[p]) add(place - features, X.data[p]);
        }
    }

    void spread(const CsrView& X, std::int64_t row, const ItemHash& hash) {
        for (auto p = X.begin(row); p < X.end(row); ++p) {
            hash.apply(X.indices[p],
                       [&](std::int32_t bucket, float sign) { add(bucket, sign * X.data[p]); });
        }
    }

    void clear() {
        for (const std::int32_t slot : touched_) values_[slot] = 0.0F;
        touched_.clear();
    }

    float operator[](std::int64_t slot) const { return values_[slot]; }

 private:
    void add(std::int64_t slot, float value) {
        values_[slot] += value;
        touched_.push_back(static_cast<std::int32_t>(slot));
    }

    Vector<float> values_;
    Vector<std::int32_t> touched_;
};

/// Routes blocks of rows and adds up leaves, in memory that it reuses.
template <class Slot, class Output>
class Router {
 public:
    explicit Router(const ForestView<Slot, Output>& forest)
        : forest_(forest), row_(forest.n_slots()), sums_(forest.n_labels) {}

    /// Finds the leaves of rows [begin, end).
    void route(const CsrView& X, std::int64_t begin, std::int64_t end) {
        n_rows_ = end - begin;
        leaves_.resize(n_rows_ * forest_.n_trees);
        if (forest_.is_hashed()) {
            for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree) {
                const ItemHash hash = forest_.hash(tree);
                for (std::int64_t i = 0; i < n_rows_; ++i) {
                    row_.spread(X, begin + i, hash);
                    leaf(tree, i) = find_leaf(tree);
                    row_.clear();
                }
            }
            return;
        }
        for (std::int64_t i = 0; i < n_rows_; ++i) {
            row_.spread(X, begin + i, forest_.features, forest_.n_features);
            for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree) {
                leaf(tree, i) = find_leaf(tree);
            }
            row_.clear();
        }
    }

    /// The mean scores of the outputs in the leaves of row i of the block, in no order.
    const Vector<Scored>& average(std::int64_t i) {
        seen_.clear();
        for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree) {
            const std::int64_t node = leaf(tree, i);
            for (auto e = forest_.leaf_ptr[node]; e < forest_.leaf_ptr[node + 1]; ++e) {
                float& sum = sums_[forest_.outputs[e]];
                if (sum == 0.0F) seen_.push_back(static_cast<std::int32_t>(forest_.outputs[e]));
                sum += forest_.values[e];
            }
        }
        scored_.clear();
        for (const std::int32_t output : seen_) {
            // Zero twice over if all its values are: a file may say so.
            if (sums_[output] == 0.0F) continue;
            scored_.push_back({sums_[output] / static_cast<float>(forest_.n_trees), output});
            sums_[output] = 0.0F;
        }
        return scored_;
    }

 private:
    std::int64_t& leaf(std::int64_t tree, std::int64_t i) { return leaves_[tree * n_rows_ + i]; }

    /// One feature after the other in double precision, which is what training does.
    double margin(std::int64_t r) const {
        double sum = static_cast<double>(forest_.bias[r]);
        for (auto e = forest_.entry_ptr[r]; e < forest_.entry_ptr[r + 1]; ++e) {
            sum += static_cast<double>(forest_.weights[e]) *
                   static_cast<double>(row_[forest_.slots[e]]);
        }
        return sum;
    }

    std::int64_t find_leaf(std::int64_t tree) const {
        std::int64_t node = forest_.tree_ptr[tree];
        while (!forest_.is_leaf(node)) {
            const std::int64_t first = forest_.row_ptr[node];
            const std::int64_t n_rows = forest_.row_ptr[node + 1] - first;
            double best = margin(first);
            std::int64_t child = n_rows == 1 && !(best >= 0.0) ? 1 : 0;
            for (std::int64_t r = 1; r < n_rows; ++r) {
                const double score = margin(first + r);
                if (score > best) {
                    best = score;
                    child = r;
                }
            }
            node = forest_.first_child[node] + child;
        }
        return node;
    }

    const ForestView<Slot, Output>& forest_;
    DenseRow row_;
    std::int64_t n_rows_ = 0;
    Vector<std::int64_t> leaves_;  // [tree][row]
    Vector<float> sums_;           // by output, zero between rows
    Vector<std::int32_t> seen_;
    Vector<Scored> scored_;
};

/// Ranks by the scores of the leaves.
struct ByLeaves {
    void start(const CsrView&, std::int64_t) {}
    void finish() {}

    void rank(const Vector<Scored>& scored, Best& best) {
        for (const Scored& one : scored) best.offer(one);
    }
};

/// Ranks by leaves and prototypes.
template <class Slot>
class ByPrototypes {
 public:
    explicit ByPrototypes(const PrototypesView<Slot>& view) : view_(view), row_(view.n_features) {}

    void start(const CsrView& X, std::int64_t row) {
        row_.spread(X, row, view_.features, view_.n_features);
    }
    void finish() { row_.clear(); }

    void rank(const Vector<Scored>& scored, Best& best) {
        bounds_.clear();
        for (const Scored& one : scored) {
            const auto norm = static_cast<double>(view_.norms[one.id]);
            const double leaves = view_.alpha * std::log(static_cast<double>(one.score));
            const double gap = 1.0 - std::sqrt(norm);
            // The slack covers the rounding of what is bounded.
            const double bound = leaves + tail(gap * gap) + 1e-9;
            bounds_.push_back({bound, leaves, one.id});
        }
        const auto later = [](const Bound& a, const Bound& b) {
            return a.bound != b.bound ? a.bound < b.bound : a.output > b.output;
        };
        std::make_heap(bounds_.begin(), bounds_.end(), later);
        for (auto end = bounds_.end(); end != bounds_.begin(); --end) {
            const Bound next = bounds_.front();
            if (best.full() && to_score(next.bound) < best.worst().score) return;
            std::pop_heap(bounds_.begin(), end, later);
            const double distance = std::max(0.0, static_cast<double>(view_.norms[next.output]) +
                                                      1.0 - 2.0 * product(next.output));
            best.offer({to_score(next.leaves + tail(distance)), next.output});
        }
    }

 private:
    struct Bound {
        double bound;
        double leaves;
        std::int32_t output;
    };

    static float to_score(double logarithm) {
        return static_cast<float>(std::exp(std::min(logarithm, 0.0)));
    }

    /// The logarithm of what a prototype at a squared distance adds.
    double tail(double distance) const {
        const double z = view_.gamma * distance;
        return (view_.alpha - 1.0) * (z > 40.0 ? z : std::log1p(std::exp(z)));
    }

    double product(std::int32_t output) const {
        const std::int64_t begin = view_.prototype_ptr[output];
        const std::int64_t end = view_.prototype_ptr[output + 1];
        double sums[4] = {};
        std::int64_t e = begin;
        for (; e + 4 <= end; e += 4) {
            for (std::int64_t i = 0; i < 4; ++i) {
                sums[i] += static_cast<double>(view_.values[e + i] * row_[view_.slots[e + i]]);
            }
        }
        for (; e < end; ++e) sums[0] += static_cast<double>(view_.values[e] * row_[view_.slots[e]]);
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    const PrototypesView<Slot>& view_;
    DenseRow row_;
    Vector<Bound> bounds_;
};

/// What one thread needs.
template <class Slot, class Output, class Rule>
struct Worker {
    Router<Slot, Output> router;
    Rule rule;
    Vector<Scored> found;
};

template <class Slot, class Output, class Rule>
TopLabels search(const Context& context, const ForestView<Slot, Output>& forest, const CsrView& X,
                 std::int64_t k, const std::function<Rule()>& make_rule) {
    TopLabels out(X.n_rows, k);
    context.expect(X.n_rows);
    using ThisWorker = Worker<Slot, Output, Rule>;
    PerWorker<ThisWorker> workers(context, [&] {
        return ThisWorker{Router<Slot, Output>(forest), make_rule(), Vector<Scored>(k)};
    });
    parallel_for(context, X.n_rows, kRowsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     auto& [router, rule, found] = workers[worker];
                     router.route(X, begin, end);
                     for (auto row = begin; row < end; ++row) {
                         std::int32_t size = 0;
                         Best best(found.data(), &size, k);
                         rule.start(X, row);
                         rule.rank(router.average(row - begin), best);
                         rule.finish();
                         best.put_in_order();
                         for (std::int32_t i = 0; i < size; ++i) {
                             out.labels[row * k + i] = forest.labels[found[i].id];
                             out.scores[row * k + i] = found[i].score;
                         }
                     }
                     context.advance(end - begin);
                 });
    return out;
}

}  // namespace

template <class Slot, class Output>
TopLabels forest_search(const Context& context, const ForestView<Slot, Output>& forest,
                        const CsrView& X, std::int64_t k) {
    return search<Slot, Output, ByLeaves>(context, forest, X, k, [] { return ByLeaves(); });
}

template <class Slot, class Output, class PrototypeSlot>
TopLabels forest_search(const Context& context, const ForestView<Slot, Output>& forest,
                        const PrototypesView<PrototypeSlot>& prototypes, const CsrView& X,
                        std::int64_t k) {
    using Rule = ByPrototypes<PrototypeSlot>;
    return search<Slot, Output, Rule>(context, forest, X, k,
                                      [&prototypes] { return Rule(prototypes); });
}

#define DEFRAG_FOREST_SEARCH(Slot, Output)                                                 \
    template TopLabels forest_search(const Context&, const ForestView<Slot, Output>&,      \
                                     const CsrView&, std::int64_t);                        \
    template TopLabels forest_search(const Context&, const ForestView<Slot, Output>&,      \
                                     const PrototypesView<std::uint16_t>&, const CsrView&, \
                                     std::int64_t);                                        \
    template TopLabels forest_search(const Context&, const ForestView<Slot, Output>&,      \
                                     const PrototypesView<std::int32_t>&, const CsrView&,  \
                                     std::int64_t);
DEFRAG_FOREST_SEARCH(std::uint16_t, std::uint16_t)
DEFRAG_FOREST_SEARCH(std::uint16_t, std::int32_t)
DEFRAG_FOREST_SEARCH(std::int32_t, std::uint16_t)
DEFRAG_FOREST_SEARCH(std::int32_t, std::int32_t)
#undef DEFRAG_FOREST_SEARCH

}  // namespace defrag
