// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/base/arrays.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// An id with a score. Higher scores are better everywhere, and ties go to the smaller id: they are
/// common, because the squared hinge saturates.
struct Scored {
    float score;
    std::int32_t id;
};

inline bool better(const Scored& a, const Scored& b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
}

/// A bound that every score reaches.
constexpr float kNoBound = -std::numeric_limits<float>::infinity();

/// The best labels of every row, best first: n_rows x k, with -1 and score 0 where there are fewer.
struct TopLabels {
    TopLabels() = default;
    TopLabels(std::int64_t n_rows, std::int64_t n_labels)
        : k(checked_k(n_labels)),
          labels(checked_product(n_rows, n_labels), -1),
          scores(labels.size(), 0.0F) {}

    std::int64_t k = 0;
    Vector<std::int32_t> labels;
    Vector<float> scores;

    /// Writes the labels of a row. They are sorted here, because distinct margins may have been
    /// rounded to the same score, and ties of scores are broken by label.
    void write(std::int64_t row, Scored* items, std::int64_t size) {
        std::sort(items, items + size, better);
        for (std::int64_t i = 0; i < size; ++i) {
            labels[row * k + i] = items[i].id;
            scores[row * k + i] = items[i].score;
        }
    }

 private:
    /// Checked here because every search constructs its result here and then reads the worst of k
    /// labels.
    static std::int64_t checked_k(std::int64_t n_labels) {
        if (n_labels >= 1) return n_labels;
        throw std::invalid_argument("k must be at least 1, got " + std::to_string(n_labels));
    }
};

/// Replaces the scores of each id by their sum, added in their order; ids are then ascending.
void add_up(Vector<Scored>& items);

/// Averages the scores of several trees for the same rows; a label missing from the result of a
/// tree counts as 0 there.
TopLabels average_trees(const Context& context, const Vector<TopLabels>& trees, std::int64_t n_rows,
                        std::int64_t k);

/// Keeps the n items that come first under `before`, a total order, in unspecified order. O(size).
template <class Items, class Before>
void top_n(Items& items, std::int64_t n, Before before) {
    if (items.size() <= n) return;
    std::nth_element(items.begin(), items.begin() + n, items.end(), before);
    items.resize(n);
}

/// Up to this capacity the best candidates are kept sorted by insertion, which costs less than a
/// heap; beyond it, the shifts would take time quadratic in the capacity.
constexpr std::int64_t kKeptInOrder = 128;

/// Keeps the best `capacity` of the candidates offered, in memory owned by the caller. Since the
/// order is total, the result does not depend on the order of the offers. An offer takes
/// O(capacity) steps up to `kKeptInOrder`, and O(log capacity) beyond. `put_in_order` must be
/// called before the items are read in order; no offer may follow it.
class Best {
 public:
    Best(Scored* items, std::int32_t* size, std::int64_t capacity)
        : items_(items), size_(size), capacity_(capacity) {}

    bool full() const { return *size_ == capacity_; }
    const Scored& worst() const { return items_[is_heap() ? 0 : *size_ - 1]; }

    void offer(const Scored& candidate) {
        if (full() && (capacity_ == 0 || !better(candidate, worst()))) return;
        if (is_heap()) return push(candidate);
        std::int32_t place = full() ? *size_ - 1 : (*size_)++;
        for (; place > 0 && better(candidate, items_[place - 1]); --place) {
            items_[place] = items_[place - 1];
        }
        items_[place] = candidate;
    }

    /// Sorts the items, best first.
    void put_in_order() {
        if (is_heap()) std::sort(items_, items_ + *size_, better);
    }

 private:
    // The first item of the heap is the worst.
    bool is_heap() const { return capacity_ > kKeptInOrder; }

    // Not inlined, to keep the caller small where it is inlined.
    [[gnu::noinline]] void push(const Scored& candidate) {
        if (full()) {
            std::pop_heap(items_, items_ + *size_, better);
            --*size_;
        }
        items_[(*size_)++] = candidate;
        std::push_heap(items_, items_ + *size_, better);
    }

    Scored* items_;
    std::int32_t* size_;
    std::int64_t capacity_;
};

}  // namespace defrag
