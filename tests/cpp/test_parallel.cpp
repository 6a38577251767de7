// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/base/arrays.hpp"
#include "core/base/parallel.hpp"

using defrag::Context;
using defrag::parallel_for;
using defrag::Vector;

TEST_CASE("every item is visited once, in blocks that do not depend on the threads") {
    for (const unsigned n_threads : {1U, 2U, 3U, 8U}) {
        for (const std::int64_t n : {0, 1, 63, 64, 65, 1000}) {
            Vector<int> visits(n);
            const Context context(n_threads);
            parallel_for(context, n, 64,
                         [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                             CHECK(begin % 64 == 0);
                             CHECK(worker < n_threads);
                             for (auto i = begin; i < end; ++i) {
                                 ++visits[i];
                             }
                         });
            for (const int count : visits) CHECK(count == 1);
        }
    }
}

TEST_CASE("the exception of the lowest block wins, whichever block throws") {
    for (std::int64_t bad = 0; bad < 64; ++bad) {
        const Context context(4);
        const auto body = [&](std::int64_t begin, std::int64_t, unsigned) {
            if (begin == bad) throw std::invalid_argument("block " + std::to_string(begin));
        };
        CHECK_THROWS_WITH_AS(parallel_for(context, 64, 1, body),
                             ("block " + std::to_string(bad)).c_str(), std::invalid_argument);
    }
}

TEST_CASE("of two blocks that throw the lower one wins, though it throws later") {
    const Context context(2);
    std::atomic<bool> higher_throws{false};
    const auto body = [&](std::int64_t begin, std::int64_t, unsigned) {
        if (begin == 1) {
            higher_throws = true;
            throw std::invalid_argument("block 1");
        }
        for (int i = 0; i < 5000 && !higher_throws; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        throw std::invalid_argument("block 0");
    };
    CHECK_THROWS_WITH_AS(parallel_for(context, 2, 1, body), "block 0", std::invalid_argument);
    CHECK(higher_throws);
}

TEST_CASE("after an exception no further block starts") {
    const Context context(2);
    std::atomic<std::int64_t> done{0};
    const auto body = [&](std::int64_t begin, std::int64_t, unsigned) {
        if (begin == 5) throw std::invalid_argument("block 5");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++done;
    };
    CHECK_THROWS_WITH_AS(parallel_for(context, 2000, 1, body), "block 5", std::invalid_argument);
    CHECK(done < 1000);
}

TEST_CASE("a hook that throws ends the work and its exception arrives") {
    const Context context(2, [](double) { throw std::runtime_error("stop"); });
    std::atomic<std::int64_t> done{0};
    const auto body = [&](std::int64_t, std::int64_t, unsigned) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ++done;
    };
    CHECK_THROWS_WITH_AS(parallel_for(context, 10000, 1, body), "stop", std::runtime_error);
    CHECK(done < 1000);
}

TEST_CASE("the hook is told how far the work is") {
    double last = -1.0;
    const Context context(1, [&last](double share) { last = share; });
    context.expect(40);
    parallel_for(context, 40, 1, [&](std::int64_t, std::int64_t, unsigned) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
        context.advance(1);
    });
    CHECK(last > 0.2);
    CHECK(last <= 1.0);
}

TEST_CASE("regions of a context use the same threads, started when a region needs them") {
    const Context context(3);
    std::mutex mutex;
    std::set<std::thread::id> threads;
    const auto count_threads = [&](std::int64_t n_blocks) {
        parallel_for(context, n_blocks, 1, [&](std::int64_t, std::int64_t, unsigned) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            const std::lock_guard<std::mutex> lock(mutex);
            threads.insert(std::this_thread::get_id());
        });
        return threads.size();
    };
    CHECK(count_threads(1) == 1);
    for (int region = 0; region < 50; ++region) CHECK(count_threads(2) <= 2);
    for (int region = 0; region < 50; ++region) CHECK(count_threads(30) <= 3);
    CHECK(threads.size() == 3);
    CHECK(threads.count(std::this_thread::get_id()) == 1);
}

TEST_CASE("threads that fall asleep between regions wake up for the next one") {
    const Context context(2);
    for (int region = 0; region < 5; ++region) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::atomic<int> present{0};
        // Each block waits for the other, so two threads must be at work.
        parallel_for(context, 2, 1, [&](std::int64_t, std::int64_t, unsigned) {
            ++present;
            for (int i = 0; i < 5000 && present < 2; ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        CHECK(present == 2);
    }
}

TEST_CASE("thousands of short regions and contexts end") {
    std::atomic<std::int64_t> done{0};
    const auto body = [&](std::int64_t, std::int64_t, unsigned) { ++done; };
    const Context context(4);
    for (int region = 0; region < 5000; ++region) parallel_for(context, 4, 1, body);
    for (int i = 0; i < 500; ++i) parallel_for(Context(3), 3, 1, body);
    CHECK(done == 5000 * 4 + 500 * 3);
}

TEST_CASE("threads can be used again after a block has thrown") {
    const Context context(2);
    for (int region = 0; region < 20; ++region) {
        std::atomic<int> done{0};
        const auto body = [&](std::int64_t begin, std::int64_t, unsigned) {
            if (begin == 1) throw std::invalid_argument("block 1");
            ++done;
        };
        CHECK_THROWS_WITH_AS(parallel_for(context, 2, 1, body), "block 1", std::invalid_argument);
        CHECK(done == 1);
    }
}

TEST_CASE("an exception of the hook waits for threads that still work") {
    const Context context(2, [](double) { throw std::runtime_error("stop"); });
    std::atomic<bool> started{false};
    std::atomic<bool> finished{false};
    const auto owner = std::this_thread::get_id();
    const auto body = [&](std::int64_t, std::int64_t, unsigned) {
        if (std::this_thread::get_id() == owner) {
            for (int i = 0; i < 5000 && !started; ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            return;
        }
        started = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        finished = true;
    };
    CHECK_THROWS_WITH_AS(parallel_for(context, 2, 1, body), "stop", std::runtime_error);
    CHECK(finished);
}

TEST_CASE("nested regions are refused, in any thread and when no block is left") {
    const Context context(2);
    const auto owner = std::this_thread::get_id();
    for (const bool in_helper : {false, true}) {
        std::atomic<bool> started{false};
        const auto nested = [&](std::int64_t, std::int64_t, unsigned) {
            if ((std::this_thread::get_id() == owner) == in_helper) {
                for (int i = 0; i < 5000 && !started; ++i) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
                return;
            }
            started = true;
            // Meanwhile the other thread has run out of blocks.
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            parallel_for(context, 9, 1, [](std::int64_t, std::int64_t, unsigned) {});
        };
        CHECK_THROWS_WITH_AS(parallel_for(context, 2, 1, nested),
                             "calls of parallel_for are nested", std::logic_error);
    }
}
