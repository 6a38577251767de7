// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "core/base/aligned.hpp"
#include "core/base/ranking.hpp"
#include "core/search/rank_kernels.hpp"
#include "core/solver/compact_rows.hpp"

namespace defrag {

/// Lists of at most `capacity` candidates, in no particular order.
class Shortlists {
 public:
    void start(std::int64_t n_lists, std::int64_t capacity) {
        capacity_ = capacity;
        sizes_.assign(n_lists, 0);
        items_.require(checked_product(n_lists, capacity));
    }

    std::int64_t capacity() const { return capacity_; }
    std::int64_t size(std::int64_t list) const { return sizes_[list]; }
    const Scored* items(std::int64_t list) const { return items_.data() + list * capacity_; }
    Scored* items(std::int64_t list) { return items_.data() + list * capacity_; }

    void clear(std::int64_t list) { sizes_[list] = 0; }
    /// Adds n candidates, item_at(i) for i < n.
    template <class Item>
    void add(std::int64_t list, std::int64_t n, Item item_at) {
        Scored* end = items(list) + sizes_[list];
        for (std::int64_t i = 0; i < n; ++i) end[i] = item_at(i);
        sizes_[list] += static_cast<std::int32_t>(n);
    }
    void add(std::int64_t list, const Scored& item) {
        add(list, 1, [&](std::int64_t) { return item; });
    }

    /// Returns the score below which a candidate cannot enter a list.
    float bound(std::int64_t list) const {
        if (sizes_[list] < capacity_) return kNoBound;
        float least = items(list)->score;
        for (std::int64_t i = 1; i < capacity_; ++i) least = std::min(least, items(list)[i].score);
        return least;
    }

    /// Sorts a list, best first.
    void put_in_order(std::int64_t list) {
        std::sort(items(list), items(list) + size(list), better);
    }

 private:
    std::int64_t capacity_ = 0;
    Vector<std::int32_t> sizes_;
    AlignedBuffer<Scored> items_;
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
        const Scored* items = lists.items(list);
        add(lists.size(list), [=](std::int64_t i) { return items[i]; });
    }

    /// Replaces a list by the best of the candidates. Their order is total, so that the result does
    /// not depend on their sequence.
    void assign_to(Shortlists& lists, std::int64_t list) {
        const std::int64_t capacity = lists.capacity();
        lists.clear(list);
        while (size_ > capacity && narrow_down(capacity)) {
        }
        if (size_ <= capacity) {
            return lists.add(list, size_, [this](std::int64_t i) { return candidate(i); });
        }
        // So many are wanted that find_best lists all, or some have the same score.
        ties_.resize_for_overwrite(size_);
        for (std::int64_t i = 0; i < size_; ++i) ties_[i] = candidate(i);
        top_n(ties_, capacity, better);
        lists.add(list, capacity, [this](std::int64_t i) { return ties_[i]; });
    }

 private:
    Scored candidate(std::int64_t i) const { return {scores_.data()[i], ids_[i]}; }

    /// Removes candidates that are not among the n best; returns false if it finds none.
    bool narrow_down(std::int64_t n) {
        const std::int64_t n_found =
            find_best_(scores_.data(), size_, n, kNoBound, positions_.data());
        if (n_found == size_) return false;
        for (std::int64_t i = 0; i < n_found; ++i) {
            scores_.data()[i] = scores_.data()[positions_[i]];
            ids_[i] = ids_[positions_[i]];
        }
        size_ = n_found;
        return true;
    }

    void reserve(std::int64_t n) {
        if (size_ + n <= ids_.size()) return;
        // A multiple of kLanes, since find_best writes whole lines.
        const std::int64_t capacity = (2 * (size_ + n) / kLanes + 4) * kLanes;
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
    Vector<Scored> ties_;
};

}  // namespace defrag
