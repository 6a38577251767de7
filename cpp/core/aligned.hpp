// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace defrag {

/// Uninitialised memory that begins on a cache line and only grows: a workspace that is
/// used for thousands of nodes allocates a few times in all.
template <class T>
class AlignedBuffer {
 public:
    AlignedBuffer() = default;
    AlignedBuffer(const AlignedBuffer&) = delete;
    AlignedBuffer& operator=(const AlignedBuffer&) = delete;
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~AlignedBuffer() { release(); }

    /// Makes room for `size` items; what was there is lost when it has to grow.
    void require(std::size_t size) {
        if (size <= capacity_) return;
        release();
        const std::size_t capacity = size + size / 4;
        data_ = static_cast<T*>(::operator new(capacity * sizeof(T), kAlignment));
        capacity_ = capacity;
    }

    T* data() { return data_; }
    const T* data() const { return data_; }

 private:
    static constexpr std::align_val_t kAlignment{64};

    void release() {
        ::operator delete(data_, kAlignment);
        data_ = nullptr;
        capacity_ = 0;
    }

    T* data_ = nullptr;
    std::size_t capacity_ = 0;
};

}  // namespace defrag
