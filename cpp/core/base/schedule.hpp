// SPDX-License-Identifier: BSD-3-Clause
// The order in which threads take work. A kernel says which items there are and how large each is;
// what is decided here never changes a result, because items are independent of each other.
//
//   Crew           rows in equal parts, and items that are known in advance, the largest first:
//                  beam search, growth of forests
//   run_divided    items of independent parts that share what is prepared once per item: training
//                  of label trees, where an item is a node and a part a block of sixteen outputs
//   run_growing    items that lead to further items, the largest first: clustering trees
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <numeric>
#include <optional>

#include "core/base/parallel.hpp"

namespace defrag {

/// How often a thread that waits for another one looks whether the computation was cancelled.
constexpr auto kPollInterval = std::chrono::milliseconds(50);

/// The threads that work together: those of a context, or the calling one alone for work that does
/// not repay waking the others.
class Crew {
 public:
    explicit Crew(const Context& context, bool alone = false)
        : context_(&context), size_(alone ? 1 : context.n_threads()) {}

    std::int64_t size() const { return size_; }

    /// Calls body(item, worker) for the items below n.
    template <class Body>
    void each(std::int64_t n, Body body) const {
        if (size_ == 1) {
            for (std::int64_t item = 0; item < n; ++item) body(item, 0U);
        } else {
            parallel_for(*context_, n, 1, [&](std::int64_t item, std::int64_t, unsigned worker) {
                body(item, worker);
            });
        }
    }

    /// The same, beginning with the items of the largest size_of(item), so that no thread is left
    /// with a large one at the end. Items of the same size are taken in order.
    template <class Size, class Body>
    void each_largest_first(std::int64_t n, Size size_of, Body body) const {
        if (size_ == 1) return each(n, body);
        Vector<std::int64_t> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int64_t a, std::int64_t b) { return size_of(a) > size_of(b); });
        each(n, [&](std::int64_t i, unsigned worker) { body(order[i], worker); });
    }

    /// Whether a part of all work would keep one thread busy to the end.
    bool is_full_share(std::int64_t part, std::int64_t all) const {
        return size_ > 1 && part * size_ >= all;
    }

    /// Appends the parts into which a run of the work is divided: as few as possible without one
    /// that exceeds a quarter of the share of a thread.
    void divide(const Range& run, std::int64_t all, Vector<Range>& parts) const {
        constexpr std::int64_t kPartsPerThread = 4;
        const std::int64_t n_parts =
            std::min({size_, run.size(), 1 + run.size() * size_ * kPartsPerThread / all});
        for (std::int64_t i = 0; i < n_parts; ++i) {
            const Range part = part_of(run.size(), i, n_parts);
            parts.push_back({run.begin + part.begin, run.begin + part.end});
        }
    }

 private:
    const Context* context_;
    std::int64_t size_;
};

/// An item of run_divided. Parts are of the same size.
struct DividedItem {
    std::int64_t n_parts = 0;
    std::int64_t work = 0;
};

/// What a thread does next in run_divided: a part of an item, the preparation of an item whose
/// parts are done by several threads, or all of an item.
struct Task {
    static constexpr std::int64_t kAll = -1;
    static constexpr std::int64_t kPrepare = -2;

    std::int64_t item;
    std::int64_t part = kAll;
};

/// Returns the tasks in the order in which threads take them, and tells the context the total work.
Vector<Task> plan(const Context& context, const Vector<DividedItem>& items);

/// The state of an item whose parts are done by several threads.
template <class State>
class SharedState {
 public:
    SharedState(State&& state, std::int64_t n_parts)
        : state_(std::make_unique<State>(std::move(state))), n_left_(n_parts) {}

    template <class Prepare>
    void prepare(Prepare prepare) {
        try {
            prepare(*state_);
            promise_.set_value();
        } catch (...) {
            promise_.set_exception(std::current_exception());
            throw;
        }
    }

    /// Does a part as soon as the item is prepared, and finishes the item if it was the last one.
    template <class Part, class Finish>
    void do_part(const Context& context, Part part, Finish finish) {
        while (prepared_.wait_for(kPollInterval) != std::future_status::ready) context.check();
        prepared_.get();
        part(*state_);
        if (n_left_.fetch_sub(1) > 1) return;
        finish(*state_);
        state_.reset();
    }

 private:
    std::unique_ptr<State> state_;
    std::atomic<std::int64_t> n_left_;
    std::promise<void> promise_;
    std::shared_future<void> prepared_{promise_.get_future()};
};

/// Runs items that consist of independent parts: prepare(item, state), then part(item, i, state,
/// worker) for all parts, then finish(item, state, worker). Threads reuse a state made by `make`
/// from item to item; an item that is large for the number of threads gets one of its own, and its
/// parts are done by all of them. Memory: a state per thread and per large item.
template <class Make, class Prepare, class Part, class Finish>
void run_divided(const Context& context, const Vector<DividedItem>& items, Make make,
                 Prepare prepare, Part part, Finish finish) {
    using State = decltype(make());
    PerWorker<State> states(context, make);
    Vector<std::unique_ptr<SharedState<State>>> shared(items.size());
    const Vector<Task> tasks = plan(context, items);
    for (const Task& task : tasks) {
        if (task.part != Task::kPrepare) continue;
        shared[task.item] = std::make_unique<SharedState<State>>(make(), items[task.item].n_parts);
    }
    const auto run = [&](std::int64_t t, std::int64_t, unsigned worker) {
        const std::int64_t item = tasks[t].item;
        const auto prepare_item = [&](State& state) { prepare(item, state); };
        const auto finish_item = [&](State& state) { finish(item, state, worker); };
        if (tasks[t].part == Task::kAll) {
            State& state = states[worker];
            prepare_item(state);
            for (std::int64_t i = 0; i < items[item].n_parts; ++i) part(item, i, state, worker);
            finish_item(state);
        } else if (tasks[t].part == Task::kPrepare) {
            shared[item]->prepare(prepare_item);
        } else {
            const auto do_part = [&](State& state) { part(item, tasks[t].part, state, worker); };
            shared[item]->do_part(context, do_part, finish_item);
        }
    };
    parallel_for(context, tasks.size(), 1, run);
}

/// Items that wait for a thread. The largest are taken first, so that no thread is left with a
/// large one at the end.
template <class Item, class Size>
class GrowingQueue {
 public:
    GrowingQueue(Vector<Item>&& items, Size size_of)
        : waiting_(std::move(items)), size_of_(size_of) {}

    void push(Item&& item) {
        const std::lock_guard<std::mutex> lock(mutex_);
        waiting_.push_back(std::move(item));
        changed_.notify_one();
    }

    /// Calls body(item) for items until all are finished, in this or another thread.
    template <class Body>
    void work(const Context& context, Body body) {
        try {
            while (std::optional<Item> item = take(context)) {
                body(*item);
                change([this] { --n_taken_; });
            }
        } catch (...) {
            change([this] { failed_ = true; });
            throw;
        }
    }

 private:
    /// Waits for an item; returns none if all are finished or a thread has failed.
    std::optional<Item> take(const Context& context) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (waiting_.empty() && n_taken_ > 0 && !failed_) {
            if (changed_.wait_for(lock, kPollInterval) == std::cv_status::timeout) context.check();
        }
        if (waiting_.empty() || failed_) return std::nullopt;
        const auto largest = std::max_element(
            waiting_.begin(), waiting_.end(),
            [this](const Item& a, const Item& b) { return size_of_(a) < size_of_(b); });
        std::swap(*largest, waiting_.back());
        Item item = std::move(waiting_.back());
        waiting_.pop_back();
        ++n_taken_;
        return item;
    }

    template <class Change>
    void change(Change change) {
        const std::lock_guard<std::mutex> lock(mutex_);
        change();
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    Vector<Item> waiting_;
    Size size_of_;
    std::int64_t n_taken_ = 0;
    bool failed_ = false;
};

/// Calls body(item, push, worker) for some items and those that it passes to push(item).
template <class Item, class Size, class Body>
void run_growing(const Context& context, Vector<Item>&& items, Size size_of, Body body) {
    GrowingQueue<Item, Size> queue(std::move(items), size_of);
    const auto push = [&queue](Item&& item) { queue.push(std::move(item)); };
    parallel_for(context, context.n_threads(), 1, [&](std::int64_t, std::int64_t, unsigned worker) {
        queue.work(context, [&](Item& item) { body(item, push, worker); });
    });
}

}  // namespace defrag
