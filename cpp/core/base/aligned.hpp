// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace defrag {

/// Uninitialised, cache-line aligned memory that only grows, so that a workspace used for thousands
/// of nodes allocates only a few times. Large buffers request huge pages: rows are visited in
/// random order, and the TLB misses otherwise took a fifth of the time of a large problem.
template <class T>
class AlignedBuffer {
 public:
    AlignedBuffer() = default;
    AlignedBuffer(const AlignedBuffer&) = delete;
    AlignedBuffer& operator=(const AlignedBuffer&) = delete;
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          capacity_(std::exchange(other.capacity_, 0)),
          alignment_(other.alignment_) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(capacity_, other.capacity_);
        std::swap(alignment_, other.alignment_);
        return *this;
    }
    ~AlignedBuffer() { release(); }

    /// Makes room for `size` items; growing discards the contents.
    void require(std::int64_t size) {
        if (size <= capacity_) return;
        constexpr auto kMost = PTRDIFF_MAX / 2 / static_cast<std::int64_t>(sizeof(T));
        if (size > kMost) throw std::bad_array_new_length();
        release();
        const std::int64_t capacity = size + size / 4;
        const auto n_bytes = static_cast<std::size_t>(capacity) * sizeof(T);
        alignment_ = std::align_val_t(n_bytes >= 2 * kHugePage ? kHugePage : kCacheLine);
        data_ = static_cast<T*>(::operator new(n_bytes, alignment_));
        capacity_ = capacity;
#if defined(__linux__)
        // A hint only: correctness does not depend on it.
        if (n_bytes >= 2 * kHugePage) static_cast<void>(madvise(data_, n_bytes, MADV_HUGEPAGE));
#endif
    }

    T* data() { return data_; }
    const T* data() const { return data_; }

 private:
    static constexpr std::size_t kCacheLine = 64;
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;

    void release() {
        ::operator delete(data_, alignment_);
        data_ = nullptr;
        capacity_ = 0;
    }

    T* data_ = nullptr;
    std::int64_t capacity_ = 0;
    std::align_val_t alignment_{kCacheLine};
};

}  // namespace defrag
