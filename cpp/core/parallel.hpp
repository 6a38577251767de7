// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include "core/arrays.hpp"

namespace defrag {

/// Thrown inside a worker when the owner of the context gave up; never leaves parallel_for.
/// Without a text of its own, so that throwing it needs no memory.
struct Cancelled : std::exception {
    const char* what() const noexcept override { return "cancelled"; }
};

/// What a kernel needs of its caller: how many threads it may use, a hook that is called
/// on the calling thread every twentieth of a second with the share of work done (it may
/// throw, which ends the kernel), and nothing else.
class Context {
 public:
    using Hook = std::function<void(double)>;

    explicit Context(unsigned n_threads, Hook hook = {});

    unsigned n_threads() const { return n_threads_; }

    /// Sets the amount of work that counts as all of it.
    void expect(std::int64_t total) const { total_ = total; }

    /// Reports work done, and ends the computation when it has been cancelled.
    /// Cheap enough to be called every few microseconds, from any thread.
    void advance(std::int64_t work) const {
        done_.fetch_add(work, std::memory_order_relaxed);
        check();
    }
    void check() const;

    void cancel() const { cancelled_ = true; }

 private:
    unsigned n_threads_;
    Hook hook_;
    std::thread::id owner_ = std::this_thread::get_id();
    mutable std::chrono::steady_clock::time_point last_call_ = std::chrono::steady_clock::now();
    mutable std::atomic<bool> cancelled_{false};
    mutable std::atomic<std::int64_t> done_{0};
    mutable std::atomic<std::int64_t> total_{0};
};

/// Runs body(begin, end, worker) over [0, n) in blocks of `grain` items.
/// Blocks are cut by item, never by thread, so a body that writes only what belongs to
/// its items gives the same bits for any number of threads. `worker` < n_threads names
/// the thread, for scratch memory only. Threads live as long as the call, which makes
/// fork() safe. When blocks throw, the exception of the lowest block wins. Where the system has
/// no memory or no threads left, those that started do all the work.
void parallel_for(const Context& context, std::int64_t n, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t, unsigned)>& body);

/// Scratch memory of the workers of parallel_for. Each worker makes its own when it first asks
/// for it, so that threads without work cost nothing.
template <class T>
class PerWorker {
 public:
    PerWorker(const Context& context, std::function<T()> make)
        : make_(std::move(make)), items_(context.n_threads()) {}

    T& operator[](unsigned worker) {
        std::unique_ptr<T>& item = items_[worker];
        if (!item) item.reset(new T(make_()));
        return *item;
    }

 private:
    std::function<T()> make_;
    Vector<std::unique_ptr<T>> items_;
};

}  // namespace defrag
