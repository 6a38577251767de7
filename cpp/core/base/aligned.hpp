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

/// Where large arrays lie that the system may take from memory when it is short: in files, which
/// the core does not open itself.
class Storage {
 public:
    Storage() = default;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    virtual ~Storage() = default;
    /// Returns page-aligned memory; null if so few bytes belong on the heap.
    virtual void* allocate(std::size_t n_bytes) = 0;
    virtual void release(void* data, std::size_t n_bytes) noexcept = 0;
    /// A hint that some of this memory is needed soon, or all of it now.
    virtual void fetch(const void* data, std::size_t n_bytes, bool now) noexcept = 0;
    /// A hint that some of this memory is not needed for a while.
    virtual void drop(const void* data, std::size_t n_bytes) noexcept = 0;
    /// The bytes that need not be dropped. What is used in turn would otherwise displace itself.
    virtual std::int64_t budget() const noexcept = 0;
};

/// Uninitialised, cache-line aligned memory that only grows, so that a workspace used for thousands
/// of nodes allocates only a few times. Large buffers request huge pages: rows are visited in
/// random order, and the TLB misses otherwise took a fifth of the time of a large problem. With a
/// storage, which must outlive the buffer, large buffers lie there.
template <class T>
class AlignedBuffer {
 public:
    AlignedBuffer() = default;
    explicit AlignedBuffer(Storage* storage) : storage_(storage) {}
    AlignedBuffer(const AlignedBuffer&) = delete;
    AlignedBuffer& operator=(const AlignedBuffer&) = delete;
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          capacity_(std::exchange(other.capacity_, 0)),
          alignment_(other.alignment_),
          storage_(other.storage_),
          stored_(std::exchange(other.stored_, 0)) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(capacity_, other.capacity_);
        std::swap(alignment_, other.alignment_);
        std::swap(storage_, other.storage_);
        std::swap(stored_, other.stored_);
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
        void* found = storage_ == nullptr ? nullptr : storage_->allocate(n_bytes);
        if (found != nullptr) {
            data_ = static_cast<T*>(found);
            capacity_ = capacity;
            stored_ = n_bytes;
            return;
        }
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

    /// Tells the storage that the items [begin, end) are needed soon, or now.
    void fetch(std::int64_t begin, std::int64_t end, bool now) const {
        if (stored_ == 0) return;
        storage_->fetch(data_ + begin, static_cast<std::size_t>(end - begin) * sizeof(T), now);
    }

    /// Tells the storage that the items [begin, end) are not needed for a while, unless the items
    /// before `end` and `others`, in bytes, are within its budget.
    void drop(std::int64_t begin, std::int64_t end, std::int64_t others) const {
        constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
        if (stored_ == 0 || end * kSize + others <= storage_->budget()) return;
        storage_->drop(data_ + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
    }

 private:
    static constexpr std::size_t kCacheLine = 64;
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;

    void release() {
        if (stored_ > 0) {
            storage_->release(data_, stored_);
        } else {
            ::operator delete(data_, alignment_);
        }
        stored_ = 0;
        data_ = nullptr;
        capacity_ = 0;
    }

    T* data_ = nullptr;
    std::int64_t capacity_ = 0;
    std::align_val_t alignment_{kCacheLine};
    Storage* storage_ = nullptr;
    std::size_t stored_ = 0;  // bytes in storage_, 0 on the heap
};

}  // namespace defrag
