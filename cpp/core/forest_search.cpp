// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

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
        : forest_(forest), row_(forest.n_features), sums_(forest.n_labels) {}

    /// Finds the leaves of rows [begin, end).
    void route(const CsrView& X, std::int64_t begin, std::int64_t end) {
        n_rows_ = end - begin;
        leaves_.resize(n_rows_ * forest_.n_trees);
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

/// What one thread needs.
template <class Slot, class Output>
struct Worker {
    Router<Slot, Output> router;
    Vector<Scored> found;
};

}  // namespace

template <class Slot, class Output>
TopLabels forest_search(const Context& context, const ForestView<Slot, Output>& forest,
                        const CsrView& X, std::int64_t k) {
    TopLabels out(X.n_rows, k);
    context.expect(X.n_rows);
    using ThisWorker = Worker<Slot, Output>;
    PerWorker<ThisWorker> workers(
        context, [&] { return ThisWorker{Router<Slot, Output>(forest), Vector<Scored>(k)}; });
    parallel_for(context, X.n_rows, kRowsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     auto& [router, found] = workers[worker];
                     router.route(X, begin, end);
                     for (auto row = begin; row < end; ++row) {
                         std::int32_t size = 0;
                         Best best(found.data(), &size, k);
                         for (const Scored& one : router.average(row - begin)) best.offer(one);
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

#define DEFRAG_FOREST_SEARCH(Slot, Output)                                            \
    template TopLabels forest_search(const Context&, const ForestView<Slot, Output>&, \
                                     const CsrView&, std::int64_t);
DEFRAG_FOREST_SEARCH(std::uint16_t, std::uint16_t)
DEFRAG_FOREST_SEARCH(std::uint16_t, std::int32_t)
DEFRAG_FOREST_SEARCH(std::int32_t, std::uint16_t)
DEFRAG_FOREST_SEARCH(std::int32_t, std::int32_t)
#undef DEFRAG_FOREST_SEARCH

}  // namespace defrag
