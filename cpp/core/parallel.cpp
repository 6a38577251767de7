// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>

#include "core/arrays.hpp"

namespace defrag {
namespace {

constexpr auto kHookInterval = std::chrono::milliseconds(50);

/// Shared state of one parallel_for: its remaining blocks and the first error.
class Region {
 public:
    using Body = std::function<void(std::int64_t, std::int64_t, unsigned)>;

    Region(const Context& owner, std::int64_t n_items, std::int64_t block_size,
           const Body& work_body)
        : context(owner), n(n_items), grain(block_size), body(work_body) {}

    const Context& context;
    const std::int64_t n;
    const std::int64_t grain;
    const Body& body;
    std::atomic<std::int64_t> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    unsigned running = 0;  // guarded by mutex
    std::int64_t error_block = -1;
    std::exception_ptr error;

    void record(std::int64_t block, std::exception_ptr thrown) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!error || block < error_block) {
            error = std::move(thrown);
            error_block = block;
        }
        next = n;  // no further block starts
    }

    void work(unsigned worker) {
        while (true) {
            const std::int64_t block = next.fetch_add(1);
            if (block >= (n + grain - 1) / grain) return;
            try {
                context.check();
                body(block * grain, std::min(n, (block + 1) * grain), worker);
            } catch (const Cancelled&) {
                return;  // the owner of the context has the reason
            } catch (...) {
                record(block, std::current_exception());
            }
        }
    }

    void run_worker(unsigned worker) {
        work(worker);
        const std::lock_guard<std::mutex> lock(mutex);
        --running;
        finished.notify_one();
    }
};

}  // namespace

Context::Context(unsigned n_threads, Hook hook)
    : n_threads_(std::max(n_threads, 1U)), hook_(std::move(hook)) {}

void Context::check() const {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
    if (!hook_ || std::this_thread::get_id() != owner_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_call_ < kHookInterval) return;
    last_call_ = now;
    const auto total = static_cast<double>(total_.load());
    try {
        hook_(total > 0 ? std::min(1.0, static_cast<double>(done_.load()) / total) : 0.0);
    } catch (...) {
        cancel();
        throw;
    }
}

void parallel_for(const Context& context, std::int64_t n, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t, unsigned)>& body) {
    if (n <= 0) return;
    grain = std::max<std::int64_t>(grain, 1);
    const std::int64_t n_blocks = (n + grain - 1) / grain;
    const auto n_workers =
        static_cast<unsigned>(std::min<std::int64_t>(context.n_threads(), n_blocks));
    Region region(context, n, grain, body);

    Vector<std::thread> threads;
    const auto add_running = [&region](unsigned change) {
        const std::lock_guard<std::mutex> lock(region.mutex);
        region.running += change;
    };
    try {
        threads.reserve(n_workers - 1);
        for (unsigned worker = 1; worker < n_workers; ++worker) {
            add_running(1);
            try {
                threads.emplace_back(&Region::run_worker, &region, worker);
            } catch (...) {
                add_running(~0U);  // minus one
                throw;
            }
        }
    } catch (const std::system_error&) {
        // Out of threads: this thread and those already started do all the work.
    } catch (const std::bad_alloc&) {
        // Likewise: the work itself may not allocate.
    }
    region.work(0);
    // The hook must still run, for interrupts, while the other threads finish.
    try {
        std::unique_lock<std::mutex> lock(region.mutex);
        while (!region.finished.wait_for(lock, kHookInterval,
                                         [&region] { return region.running == 0; })) {
            lock.unlock();
            context.check();
            lock.lock();
        }
    } catch (const Cancelled&) {
        // Another thread failed; its exception is in the region.
    } catch (...) {
        region.record(-1, std::current_exception());
    }
    for (auto& thread : threads) thread.join();
    if (region.error) std::rethrow_exception(region.error);
    context.check();
}

}  // namespace defrag
