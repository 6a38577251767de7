// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace defrag {

/// Something with a score. Everywhere the better one has the higher score, and of equal
/// scores the smaller id: ties are common, because the squared hinge saturates.
struct Scored {
    float score;
    std::int32_t id;
};

inline bool better(const Scored& a, const Scored& b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
}

/// The best `capacity` of the candidates offered, in order, in memory that somebody else
/// owns. Since the order is total, the result does not depend on who was offered first.
class Best {
 public:
    Best(Scored* items, std::int32_t* size, std::int64_t capacity)
        : items_(items), size_(size), capacity_(capacity) {}

    bool full() const { return *size_ == capacity_; }
    const Scored& worst() const { return items_[*size_ - 1]; }

    void offer(const Scored& candidate) {
        if (full()) {
            if (capacity_ == 0 || !better(candidate, worst())) return;
            --*size_;
        }
        std::int32_t place = (*size_)++;
        for (; place > 0 && better(candidate, items_[place - 1]); --place) {
            items_[place] = items_[place - 1];
        }
        items_[place] = candidate;
    }

 private:
    Scored* items_;
    std::int32_t* size_;
    std::int64_t capacity_;
};

}  // namespace defrag
