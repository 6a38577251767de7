// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>

#include "core/base/arrays.hpp"

namespace defrag {

/// Thrown inside a worker when the computation was cancelled; never leaves parallel_for. It has no
/// message, so that throwing it does not allocate one.
struct Cancelled : std::exception {
    const char* what() const noexcept override { return "cancelled"; }
};

/// The items [begin, end).
struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    std::int64_t size() const { return end - begin; }
};

/// Returns part `part` of n items that are divided into n_parts parts of about the same size.
inline Range part_of(std::int64_t n, std::int64_t part, std::int64_t n_parts) {
    return {n * part / n_parts, n * (part + 1) / n_parts};
}

class Team;

/// The environment of a kernel: the threads it may use, and a hook called on the calling thread
/// about every 50 ms with the fraction of work done. The hook may throw, which ends the kernel.
/// Threads are started when parallel_for first needs them and end with the context, that is, with
/// the call of the kernel, which makes fork() safe.
class Context {
 public:
    using Hook = std::function<void(double)>;

    explicit Context(unsigned n_threads, Hook hook = {});
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context();

    unsigned n_threads() const { return n_threads_; }

    /// Sets the total amount of work.
    void expect(std::int64_t total) const { total_ = total; }

    /// Reports work done, and throws Cancelled if the computation was cancelled. Cheap enough to be
    /// called every few microseconds; thread-safe.
    void advance(std::int64_t work) const {
        done_.fetch_add(work, std::memory_order_relaxed);
        check();
    }
    void check() const;

    void cancel() const { cancelled_ = true; }

 private:
    friend void parallel_for(const Context& context, std::int64_t n, std::int64_t grain,
                             const std::function<void(std::int64_t, std::int64_t, unsigned)>& body);

    /// Returns the team, or null if the system is out of memory.
    Team* team() const;

    unsigned n_threads_;
    Hook hook_;
    mutable std::unique_ptr<Team> team_;  // the other threads, once a region has needed them
    std::thread::id owner_ = std::this_thread::get_id();
    mutable std::chrono::steady_clock::time_point last_call_ = std::chrono::steady_clock::now();
    mutable std::atomic<bool> cancelled_{false};
    mutable std::atomic<std::int64_t> done_{0};
    mutable std::atomic<std::int64_t> total_{0};
};

/// Runs body(begin, end, worker) over [0, n) in blocks of `grain` items. Block boundaries do not
/// depend on the number of threads, so a body that writes only the results of its own items gives
/// the same bits for any number of threads. `worker` < n_threads identifies the thread and must be
/// used for scratch memory only. Calls are not nested. If blocks throw, the exception of the lowest
/// block is rethrown. If the system runs out of memory or threads, those already started do all the
/// work, and a thread that is slow to wake up leaves its share to the others.
void parallel_for(const Context& context, std::int64_t n, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t, unsigned)>& body);

/// Calls body(item, worker) for the items of [0, n), in blocks of `grain`, and reports them as
/// done.
template <class Body>
void for_each(const Context& context, std::int64_t n, std::int64_t grain, Body body) {
    parallel_for(context, n, grain, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
        for (std::int64_t item = begin; item < end; ++item) body(item, worker);
        context.advance(end - begin);
    });
}

/// Scratch memory of the workers of parallel_for. Each is created on first use, so that threads
/// without work cost nothing.
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

    /// Returns whether a worker has used its scratch memory.
    bool has(unsigned worker) const { return items_[worker] != nullptr; }

 private:
    std::function<T()> make_;
    Vector<std::unique_ptr<T>> items_;
};

}  // namespace defrag
