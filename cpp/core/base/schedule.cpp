// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/schedule.hpp"

namespace defrag {
namespace {

// An item of several parts and more than 1 / kSharesPerThread of the work of a thread is done by
// several threads; smaller ones with more than 1 / kLargePerThread of it are started early.
constexpr std::int64_t kSharesPerThread = 4;
constexpr std::int64_t kLargePerThread = 32;

}  // namespace

Vector<Task> plan(const Context& context, const Vector<DividedItem>& items) {
    const std::int64_t n_threads = context.n_threads();
    std::int64_t total = 0;
    for (const DividedItem& item : items) total += item.work;
    context.expect(total);
    Vector<std::int64_t> shared;
    Vector<std::int64_t> large;
    Vector<std::int64_t> rest;  // in the given order, in which neighbours have data in common
    for (std::int64_t i = 0; i < items.size(); ++i) {
        const auto exceeds = [&](std::int64_t parts_per_thread) {
            return items[i].work > total / (parts_per_thread * n_threads);
        };
        const bool is_shared = n_threads > 1 && items[i].n_parts > 1 && exceeds(kSharesPerThread);
        (is_shared ? shared : exceeds(kLargePerThread) ? large : rest).push_back(i);
    }
    std::stable_sort(large.begin(), large.end(), [&items](std::int64_t a, std::int64_t b) {
        return items[a].work > items[b].work;
    });
    Vector<Task> tasks;
    const auto append = [&tasks](auto begin, auto end) {
        for (; begin != end; ++begin) tasks.push_back({*begin});
    };
    const auto prepare = [&](std::int64_t n) {
        if (n < shared.size()) tasks.push_back({shared[n], Task::kPrepare});
    };
    // While one thread prepares a shared item, the others have something else to do.
    prepare(0);
    const std::int64_t n_first = std::min(shared.empty() ? 0 : n_threads - 1, large.size());
    append(large.begin(), large.begin() + n_first);
    for (std::int64_t n = 0; n < shared.size(); ++n) {
        prepare(n + 1);
        for (std::int64_t part = 0; part < items[shared[n]].n_parts; ++part) {
            tasks.push_back({shared[n], part});
        }
    }
    append(large.begin() + n_first, large.end());
    append(rest.begin(), rest.end());
    return tasks;
}

}  // namespace defrag
