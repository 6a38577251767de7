// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest/search.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/ranking.hpp"

namespace defrag {
namespace {

// Number of rows routed through a hashed tree in succession, so that its nodes stay in the cache.
constexpr std::int64_t kRowsPerBlock = 64;
// A look-up in the centroids of a node costs about as much as scanning this many entries.
constexpr std::int64_t kStepsPerLookUp = 12;
// Logarithms are ranked in steps of 2^-18 down to -63: integers that a float represents exactly,
// and whose exponentials are distinct in single precision.
constexpr double kStepsPerUnit = 262144.0;
constexpr double kLeastLog = -63.0;
// Above this, log(1 + e^z) equals z in double precision.
constexpr double kLinearTail = 40.0;

/// A row as a dense vector over the features in use, zero between rows.
class DenseRow {
 public:
    explicit DenseRow(std::int64_t n_slots) : values_(n_slots) {}

    /// Scatters a row to the slots of its features, which are ascending.
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

    void add(std::int64_t slot, float value) {
        values_[slot] += value;
        touched_.push_back(static_cast<std::int32_t>(slot));
    }

    float operator[](std::int64_t slot) const { return values_[slot]; }

 private:
    Vector<float> values_;
    Vector<std::int32_t> touched_;
};

/// Ranks the labels of one row by leaves and prototypes.
template <class Slot>
class Reranker {
 public:
    explicit Reranker(const PrototypesView<Slot>& view) : view_(view) {}

    /// Offers labels with their scores as integral numbers of steps.
    void rank(const Vector<Scored>& means, const DenseRow& row, Best& best) {
        bounds_.clear();
        for (const Scored& one : means) {
            const double leaves =
                view_.alpha * (std::log(static_cast<double>(one.score)) +
                               std::log(static_cast<double>(view_.label_weights[one.id])));
            const double gap = 1.0 - std::sqrt(static_cast<double>(view_.norms[one.id]));
            // The slack covers the rounding error of the dot product that the bound replaces.
            const double bound = leaves + tail(gap * gap) + 1e-6;
            bounds_.push_back({bound, leaves, one.id});
        }
        const auto later = [](const Bound& a, const Bound& b) {
            return a.bound != b.bound ? a.bound < b.bound : a.output > b.output;
        };
        std::make_heap(bounds_.begin(), bounds_.end(), later);
        for (auto end = bounds_.end(); end != bounds_.begin(); --end) {
            const Bound next = bounds_.front();
            if (best.full() && to_steps(next.bound) < best.worst().score) return;
            std::pop_heap(bounds_.begin(), end, later);
            const double distance = static_cast<double>(view_.norms[next.output]) + 1.0 -
                                    2.0 * product(next.output, row);
            best.offer({to_steps(next.leaves + tail(std::max(0.0, distance))), next.output});
        }
    }

 private:
    struct Bound {
        double bound;
        double leaves;
        std::int32_t output;
    };

    static float to_steps(double logarithm) {
        return static_cast<float>(
            std::floor(std::clamp(logarithm, kLeastLog, 0.0) * kStepsPerUnit));
    }

    /// The logarithm of the prototype factor at a squared distance.
    double tail(double distance) const {
        const double z = view_.gamma / 2.0 * distance;
        return (view_.alpha - 1.0) * (z > kLinearTail ? z : std::log1p(std::exp(z)));
    }

    double product(std::int32_t output, const DenseRow& row) const {
        const std::int64_t end = view_.prototype_ptr[output + 1];
        double sums[4] = {};
        std::int64_t e = view_.prototype_ptr[output];
        for (; e + 4 <= end; e += 4) {
            for (std::int64_t i = 0; i < 4; ++i) {
                sums[i] += static_cast<double>(view_.values[e + i] * row[view_.slots[e + i]]);
            }
        }
        for (; e < end; ++e) sums[0] += static_cast<double>(view_.values[e] * row[view_.slots[e]]);
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    const PrototypesView<Slot>& view_;
    Vector<Bound> bounds_;
};

/// Routes rows, sums leaf distributions and ranks labels, in memory that is reused.
template <class Slot, class Output>
class Searcher {
 public:
    Searcher(const ForestView<Slot, Output>& forest, const PrototypesView<Slot>* prototypes,
             std::int64_t k)
        : forest_(forest),
          row_(forest.is_hashed() ? forest.n_buckets : forest.n_features),
          sums_(forest.n_labels),
          found_(k) {
        if (prototypes != nullptr) rerankers_.emplace_back(*prototypes);
    }

    /// Writes the best labels of rows [begin, end).
    void search(const CsrView& X, std::int64_t begin, std::int64_t end, TopLabels& out) {
        if (forest_.is_hashed()) route_hashed(X, begin, end);
        for (std::int64_t row = begin; row < end; ++row) {
            if (!forest_.is_hashed()) row_.spread(X, row, forest_.features, forest_.n_features);
            for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree) {
                add_leaf(forest_.is_hashed() ? leaves_[tree * (end - begin) + row - begin]
                                             : find_leaf(tree));
            }
            rank(out.labels.data() + row * out.k, out.scores.data() + row * out.k);
            row_.clear();
        }
    }

 private:
    /// Finds the leaves of rows [begin, end) as [tree][row].
    void route_hashed(const CsrView& X, std::int64_t begin, std::int64_t end) {
        leaves_.clear();
        for (std::int64_t tree = 0; tree < forest_.n_trees; ++tree) {
            const ItemHash hash = forest_.hash(tree);
            for (std::int64_t row = begin; row < end; ++row) {
                hash_row(X, row, hash);
                leaves_.push_back(find_leaf(tree));
            }
        }
    }

    /// Writes the best labels of the accumulated leaves.
    void rank(std::int32_t* labels, float* scores) {
        collect_means();
        std::int32_t size = 0;
        Best best(found_.data(), &size, found_.size());
        if (rerankers_.empty()) {
            for (const Scored& one : means_) best.offer(one);
        } else {
            rerankers_.front().rank(means_, row_, best);
        }
        best.put_in_order();
        if (!rerankers_.empty()) steps_to_scores(size);
        for (std::int32_t i = 0; i < size; ++i) {
            labels[i] = forest_.labels[found_[i].id];
            scores[i] = found_[i].score;
        }
    }

    void hash_row(const CsrView& X, std::int64_t row, const ItemHash& hash) {
        row_.clear();
        hashed_.clear();
        for (auto p = X.begin(row); p < X.end(row); ++p) {
            hash.apply(X.indices[p], [&](std::int32_t bucket, float sign) {
                hashed_.push_back({sign * X.data[p], bucket});
                row_.add(bucket, sign * X.data[p]);
            });
        }
    }

    std::int64_t find_leaf(std::int64_t tree) {
        std::int64_t node = forest_.tree_ptr[tree];
        while (!forest_.is_leaf(node)) {
            const std::int64_t child =
                forest_.is_hashed() ? nearest_child(node) : (margin(node) >= 0.0 ? 0 : 1);
            node = forest_.first_child[node] + child;
        }
        return node;
    }

    /// Adds the features in order and in double precision, exactly as training does.
    double margin(std::int64_t node) const {
        double sum = static_cast<double>(forest_.bias[node]);
        for (auto e = forest_.entry_ptr[node]; e < forest_.entry_ptr[node + 1]; ++e) {
            sum += static_cast<double>(forest_.weights[e]) *
                   static_cast<double>(row_[forest_.slots[e]]);
        }
        return sum;
    }

    /// Returns the child whose centroid has the largest dot product with the hashed row. In a large
    /// node the centroids have far more entries than the row, so each entry of the row is looked
    /// up.
    std::int64_t nearest_child(std::int64_t node) {
        const std::int64_t begin = forest_.entry_ptr[node];
        const std::int64_t end = forest_.entry_ptr[node + 1];
        products_.assign(kMostChildren, 0.0F);
        if (end - begin <= kStepsPerLookUp * hashed_.size()) {
            for (auto e = begin; e < end; ++e) {
                products_[forest_.children[e]] += forest_.weights[e] * row_[forest_.slots[e]];
            }
        } else {
            look_up(begin, end);
            for (std::int64_t i = 0; i < hashed_.size(); ++i) {
                const auto bucket = static_cast<Slot>(hashed_[i].id);
                for (auto e = places_[i]; e < end && forest_.slots[e] == bucket; ++e) {
                    products_[forest_.children[e]] += forest_.weights[e] * hashed_[i].score;
                }
            }
        }
        const auto last = products_.begin() + forest_.n_children[node];
        return std::max_element(products_.begin(), last) - products_.begin();
    }

    /// Finds, for every bucket of the row, the first of the entries [begin, end) whose slot is at
    /// least the bucket. The binary searches advance in lockstep, so that their cache misses
    /// overlap.
    void look_up(std::int64_t begin, std::int64_t end) {
        places_.assign(hashed_.size(), begin);
        for (std::int64_t n = end - begin; n > 0;) {
            const std::int64_t half = (n + 1) / 2;
            const Slot* last = forest_.slots + half - 1;
            for (std::int64_t i = 0; i < hashed_.size(); ++i) {
                const bool below = last[places_[i]] < static_cast<Slot>(hashed_[i].id);
                places_[i] += half & -static_cast<std::int64_t>(below);
            }
            n -= half;
        }
    }

    void add_leaf(std::int64_t node) {
        for (auto e = forest_.leaf_ptr[node]; e < forest_.leaf_ptr[node + 1]; ++e) {
            float& sum = sums_[forest_.outputs[e]];
            if (sum == 0.0F) seen_.push_back(static_cast<std::int32_t>(forest_.outputs[e]));
            sum += forest_.values[e];
        }
    }

    /// Collects the mean of every output over the accumulated leaves, in no particular order.
    void collect_means() {
        means_.clear();
        for (const std::int32_t output : seen_) {
            // Zero if the output has been collected already, or if all its values are zero, as they
            // may be in a file.
            if (sums_[output] == 0.0F) continue;
            means_.push_back({sums_[output] / static_cast<float>(forest_.n_trees), output});
            sums_[output] = 0.0F;
        }
        seen_.clear();
    }

    void steps_to_scores(std::int32_t size) {
        float largest = 0.0F;
        for (const Scored& one : means_) largest = std::max(largest, one.score);
        const double first = size > 0 ? static_cast<double>(found_[0].score) : 0.0;
        for (std::int32_t i = 0; i < size; ++i) {
            const double below = static_cast<double>(found_[i].score) - first;
            found_[i].score =
                static_cast<float>(static_cast<double>(largest) * std::exp(below / kStepsPerUnit));
        }
    }

    const ForestView<Slot, Output>& forest_;
    DenseRow row_;
    Vector<std::int64_t> leaves_;
    Vector<Scored> hashed_;        // values and buckets of a row in one tree
    Vector<std::int64_t> places_;  // entry of the node for each entry of hashed_
    Vector<float> products_;       // by child
    Vector<float> sums_;           // by output, zero between rows
    Vector<std::int32_t> seen_;
    Vector<Scored> means_;
    Vector<Scored> found_;
    Vector<Reranker<Slot>> rerankers_;  // one or none
};

}  // namespace

template <class Slot, class Output>
TopLabels forest_search(const Context& context, const ForestView<Slot, Output>& forest,
                        const PrototypesView<Slot>* prototypes, const CsrView& X, std::int64_t k) {
    TopLabels out(X.n_rows, k);
    context.expect(X.n_rows);
    PerWorker<Searcher<Slot, Output>> searchers(
        context, [&] { return Searcher<Slot, Output>(forest, prototypes, k); });
    parallel_for(context, X.n_rows, kRowsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     searchers[worker].search(X, begin, end, out);
                     context.advance(end - begin);
                 });
    return out;
}

#define DEFRAG_FOREST_SEARCH(Slot, Output)                                            \
    template TopLabels forest_search(const Context&, const ForestView<Slot, Output>&, \
                                     const PrototypesView<Slot>*, const CsrView&, std::int64_t);
DEFRAG_FOREST_SEARCH(std::uint16_t, std::uint16_t)
DEFRAG_FOREST_SEARCH(std::uint16_t, std::int32_t)
DEFRAG_FOREST_SEARCH(std::int32_t, std::uint16_t)
DEFRAG_FOREST_SEARCH(std::int32_t, std::int32_t)
#undef DEFRAG_FOREST_SEARCH

}  // namespace defrag
