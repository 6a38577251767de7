// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/arrays.hpp"
#include "core/parallel.hpp"

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
