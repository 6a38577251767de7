// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a Python process: makes the n-th `operator new` from now on fail.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> until_failure{-1};  // allocations that succeed; -1: all
std::atomic<std::int64_t> n_failed{0};

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (until_failure.load() >= 0 && until_failure.fetch_sub(1) == 0) {
        ++n_failed;
        return nullptr;
    }
    void* memory = nullptr;
    return posix_memalign(&memory, alignment, size == 0 ? 1 : size) == 0 ? memory : nullptr;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    void* memory = allocate(size, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

extern "C" {
/// Lets `n` allocations succeed and the next one fail.
void fail_after(std::int64_t n) {
    n_failed = 0;
    until_failure = n;
}
/// Lets all allocations succeed; returns how many failed.
std::int64_t stop_failing() {
    until_failure = -1;
    return n_failed;
}
}

void* operator new(std::size_t size) { return allocate_or_throw(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) {
    return allocate_or_throw(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, alignof(std::max_align_t));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
