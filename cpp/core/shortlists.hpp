// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "core/aligned.hpp"
#include "core/ranking.hpp"
#include "core/solver_pass.hpp"

namespace defrag {

/// A bound that every score reaches.
constexpr float kNoBound = -std::numeric_limits<float>::infinity();

/// Lists of at most `capacity` candidates, in no particular order.
class Shortlists {
 public:
    void start(std::int64_t n_lists, std::int64_t capacity) {
        capacity_ = capacity;
        sizes_.assign(n_lists, 0);
        scores_.require(checked_product(n_lists, capacity));
        ids_.require(n_lists * capacity);
    }

    std::int64_t capacity() const { return capacity_; }
    std::int64_t size(std::int64_t list) const { return sizes_[list]; }
    const float* scores(std::int64_t list) const { return scores_.data() + list * capacity_; }
    const std::int32_t* ids(std::int64_t list) const { return ids_.data() + list * capacity_; }

    void clear(std::int64_t list) { sizes_[list] = 0; }
    void add(std::int64_t list, float score, std::int32_t id) {
        add(list, 1, [=](std::int64_t) { return Scored{score, id}; });
    }
    /// Adds n candidates, item_at(i) for i < n.
    template <class Item>
    void add(std::int64_t list, std::int64_t n, Item item_at) {
        float* scores = scores_.data() + list * capacity_ + sizes_[list];
        std::int32_t* ids = ids_.data() + list * capacity_ + sizes_[list];
        for (std::int64_t i = 0; i < n; ++i) {
            const Scored item = item_at(i);
            scores[i] = item.score;
            ids[i] = item.id;
        }
        sizes_[list] += static_cast<std::int32_t>(n);
    }

    /// Returns the score below which a candidate cannot enter a list.
    float bound(std::int64_t list) const {
        if (sizes_[list] < capacity_) return kNoBound;
        return *std::min_element(scores(list), scores(list) + capacity_);
    }

    /// Sets `ranked` to the items of a list.
    void rank(std::int64_t list, Vector<Ranked>& ranked) const {
        ranked.clear();
        for (std::int64_t i = 0; i < sizes_[list]; ++i) {
            ranked.push_back(Ranked({scores(list)[i], ids(list)[i]}));
        }
    }

    /// Sorts a list, best first; `ranked` is scratch.
    void put_in_order(std::int64_t list, Vector<Ranked>& ranked) {
        rank(list, ranked);
        std::sort(ranked.begin(), ranked.end());
        clear(list);
        add(list, ranked.size(),
            [&](std::int64_t i) { return Scored{ranked[i].score(), ranked[i].id()}; });
    }

 private:
    std::int64_t capacity_ = 0;
    Vector<std::int32_t> sizes_;
    AlignedBuffer<float> scores_;
    AlignedBuffer<std::int32_t> ids_;
};

/// Selects the best of many candidates. One object per thread.
class Selector {
 public:
    explicit Selector(Instructions instructions) : find_best_(select_find_best(instructions)) {}

    void clear() { size_ = 0; }
    std::int64_t size() const { return size_; }

    /// Adds n candidates, item_at(i) for i < n.
    template <class Item>
    void add(std::int64_t n, Item item_at) {
        reserve(n);
        float* scores = scores_.data() + size_;
        std::int32_t* ids = ids_.data() + size_;
        for (std::int64_t i = 0; i < n; ++i) {
            const Scored item = item_at(i);
            scores[i] = item.score;
            ids[i] = item.id;
        }
        size_ += n;
    }
    void add(const Shortlists& lists, std::int64_t list) {
        const std::int64_t n = lists.size(list);
        reserve(n);
        std::copy(lists.scores(list), lists.scores(list) + n, scores_.data() + size_);
        std::copy(lists.ids(list), lists.ids(list) + n, ids_.begin() + size_);
        size_ += n;
    }

    /// Replaces a list by the best of the candidates. Their order is total, so that the result does
    /// not depend on their sequence.
    void assign_to(Shortlists& lists, std::int64_t list) {
        reduce(lists.capacity());
        lists.clear(list);
        lists.add(list, size_,
                  [this](std::int64_t i) { return Scored{scores_.data()[i], ids_[i]}; });
    }

 private:
    /// Reduces the candidates to the n best.
    void reduce(std::int64_t n) {
        while (size_ > n && n <= kLanes) {
            const std::int64_t before = std::exchange(
                size_, find_best_(scores_.data(), size_, n, kNoBound, positions_.data()));
            if (size_ == before) break;
            for (std::int64_t i = 0; i < size_; ++i) {
                scores_.data()[i] = scores_.data()[positions_[i]];
                ids_[i] = ids_[positions_[i]];
            }
        }
        if (size_ <= n) return;
        // So many that find_best lists all, or some with the same score.
        ranked_.clear();
        for (std::int64_t i = 0; i < size_; ++i) {
            ranked_.push_back(Ranked({scores_.data()[i], ids_[i]}));
        }
        top_n(ranked_, n, std::less<>());
        clear();
        add(n, [this](std::int64_t i) { return Scored{ranked_[i].score(), ranked_[i].id()}; });
    }

    void reserve(std::int64_t n) {
        if (size_ + n <= ids_.size()) return;
        const std::int64_t capacity = 2 * (size_ + n) + 4 * kLanes;
        AlignedBuffer<float> scores;
        scores.require(capacity);
        std::copy(scores_.data(), scores_.data() + size_, scores.data());
        scores_ = std::move(scores);
        ids_.resize(capacity);
        positions_.resize(capacity);
    }

    FindBest find_best_;
    std::int64_t size_ = 0;
    AlignedBuffer<float> scores_;  // with room for the padding of find_best
    Vector<std::int32_t> ids_;
    Vector<std::int32_t> positions_;
    Vector<Ranked> ranked_;
};

}  // namespace defrag
