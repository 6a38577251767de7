// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/parallel.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>

#include "core/base/arrays.hpp"

namespace defrag {
namespace {

constexpr auto kHookInterval = std::chrono::milliseconds(50);

// How long a thread that waits for others stays awake: kernels have many short regions in a row,
// and waking a thread takes longer than what lies between them.
constexpr auto kStayAwake = std::chrono::microseconds(50);

/// Waits until a condition holds, or for kStayAwake at most.
template <class Condition>
void stay_awake_until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + kStayAwake;
    while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// Shared state of one parallel_for: its remaining blocks and the first error.
class Region {
 public:
    using Body = std::function<void(std::int64_t, std::int64_t, unsigned)>;

    Region(const Context& context, std::int64_t n, std::int64_t grain, const Body& body)
        : context_(context),
          n_(n),
          grain_(grain),
          n_blocks_((n + grain - 1) / grain),
          body_(body) {}

    std::int64_t n_blocks() const { return n_blocks_; }

    /// Runs blocks until none is left.
    void work(unsigned worker) {
        while (true) {
            const std::int64_t block = next_.fetch_add(1);
            if (block >= n_blocks_) return;
            try {
                context_.check();
                body_(block * grain_, std::min(n_, (block + 1) * grain_), worker);
            } catch (const Cancelled&) {
                return;  // the owner of the context has the reason
            } catch (...) {
                record(block, std::current_exception());
            }
        }
    }

    void record(std::int64_t block, std::exception_ptr thrown) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!error_ || block < error_block_) {
            error_ = std::move(thrown);
            error_block_ = block;
        }
        next_ = n_blocks_;  // no further block starts
    }

    /// Rethrows the exception of the lowest block; called when no thread works any more.
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

 private:
    const Context& context_;
    const std::int64_t n_;
    const std::int64_t grain_;
    const std::int64_t n_blocks_;
    const Body& body_;
    std::atomic<std::int64_t> next_{0};
    std::mutex mutex_;
    std::int64_t error_block_ = -1;
    std::exception_ptr error_;
};

}  // namespace

/// The threads of a context besides its own. Between regions they stay awake for a moment, then
/// sleep. A region ends when its blocks are done, whether or not all threads have woken up.
class Team {
 public:
    Team() = default;
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    ~Team() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            ending_ = true;
            ++n_regions_;
        }
        opened_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    /// Lets at most n threads work on a region, until it is closed.
    void open(Region& region, std::int64_t n) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (region_ != nullptr || n_working_ > 0) {
                throw std::logic_error("calls of parallel_for are nested");
            }
            grow(n);
            region_ = &region;
            n_free_ = n;
            ++n_regions_;
        }
        for (std::int64_t i = 0; i < n; ++i) opened_.notify_one();
    }

    /// Lets no further thread in and waits for those at work. The hook of the context still runs,
    /// for interrupts.
    void close(const Context& context, Region& region) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            region_ = nullptr;
        }
        const auto finished = [this] { return n_working_ == 0; };
        stay_awake_until(finished);
        std::unique_lock<std::mutex> lock(mutex_);
        try {
            while (!finished_.wait_for(lock, kHookInterval, finished)) {
                lock.unlock();
                context.check();
                lock.lock();
            }
        } catch (const Cancelled&) {
            // Another thread failed; its exception is in the region.
        } catch (...) {
            region.record(-1, std::current_exception());
        }
        if (!lock.owns_lock()) lock.lock();
        finished_.wait(lock, finished);
    }

 private:
    /// Starts threads until there are n, or as many as the system has to offer.
    void grow(std::int64_t n) {
        try {
            threads_.reserve(n);
            while (threads_.size() < n) {
                threads_.emplace_back(&Team::serve, this,
                                      static_cast<unsigned>(threads_.size() + 1));
            }
        } catch (const std::system_error&) {
            return;  // out of threads: those already started do all the work
        } catch (const std::bad_alloc&) {
            return;  // likewise: the work itself may not allocate
        }
    }

    void serve(unsigned worker) {
        std::int64_t seen = 0;
        while (true) {
            stay_awake_until([&] { return n_regions_ != seen; });
            std::unique_lock<std::mutex> lock(mutex_);
            opened_.wait(lock, [&] { return n_regions_ != seen; });
            seen = n_regions_;
            if (ending_) return;
            if (region_ == nullptr || n_free_ == 0) continue;
            Region& region = *region_;
            --n_free_;
            ++n_working_;
            lock.unlock();
            region.work(worker);
            lock.lock();
            if (--n_working_ == 0) finished_.notify_one();
        }
    }

    Vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable opened_;
    std::condition_variable finished_;
    // Guarded by the mutex; the atomic ones are also read by threads that stay awake.
    Region* region_ = nullptr;
    std::int64_t n_free_ = 0;  // places for threads in the region
    std::atomic<std::int64_t> n_regions_{0};
    std::atomic<std::int64_t> n_working_{0};
    bool ending_ = false;
};

Context::Context(unsigned n_threads, Hook hook)
    : n_threads_(std::max(n_threads, 1U)), hook_(std::move(hook)) {}

Context::~Context() = default;

Team* Context::team() const {
    try {
        if (!team_) team_ = std::make_unique<Team>();
        return team_.get();
    } catch (const std::bad_alloc&) {
        return nullptr;  // the calling thread does all the work
    }
}

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
    Region region(context, n, std::max<std::int64_t>(grain, 1), body);
    const std::int64_t n_helpers =
        std::min<std::int64_t>(context.n_threads(), region.n_blocks()) - 1;
    Team* team = n_helpers > 0 ? context.team() : nullptr;
    if (team != nullptr) team->open(region, n_helpers);
    region.work(0);
    if (team != nullptr) team->close(context, region);
    region.rethrow();
    context.check();
}

}  // namespace defrag
