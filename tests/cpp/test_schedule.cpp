// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "core/base/schedule.hpp"

using namespace defrag;

namespace {

/// What happened to an item of run_divided.
struct Record {
    std::atomic<int> prepared{0};
    std::atomic<int> parts{0};
    std::atomic<int> finished{0};
};

/// Items of very different sizes, of which two are shared by several threads.
const Vector<DividedItem> kItems{{1, 5}, {40, 4000}, {0, 0}, {3, 30}, {60, 9000}, {1, 700}, {2, 2}};

}  // namespace

TEST_CASE("every part of an item is done once, between its preparation and its end") {
    for (const unsigned n_threads : {1U, 2U, 5U}) {
        const Context context(n_threads);
        std::vector<Record> records(static_cast<std::size_t>(kItems.size()));
        const auto record = [&](std::int64_t i) -> Record& {
            return records[static_cast<std::size_t>(i)];
        };
        run_divided(
            context, kItems, [] { return std::int64_t{-1}; },
            [&](std::int64_t item, std::int64_t& state) {
                state = item;
                ++record(item).prepared;
            },
            [&](std::int64_t item, std::int64_t, std::int64_t& state, unsigned worker) {
                if (state == item && record(item).prepared == 1 && record(item).finished == 0 &&
                    worker < n_threads) {
                    ++record(item).parts;
                }
            },
            [&](std::int64_t item, std::int64_t& state, unsigned) {
                if (state == item) ++record(item).finished;
            });
        for (std::int64_t i = 0; i < kItems.size(); ++i) {
            CHECK(record(i).prepared == 1);
            CHECK(record(i).parts == kItems[i].n_parts);
            CHECK(record(i).finished == 1);
        }
    }
}

TEST_CASE("a preparation that throws ends the work, though threads wait for it") {
    const Context context(4);
    const auto nothing = [](std::int64_t, std::int64_t, int&, unsigned) {};
    const auto prepare = [](std::int64_t item, int&) {
        if (item == 4) throw std::invalid_argument("item 4");
    };
    const auto finish = [](std::int64_t, int&, unsigned) {};
    CHECK_THROWS_WITH_AS(run_divided(
                             context, kItems, [] { return 0; }, prepare, nothing, finish),
                         "item 4", std::invalid_argument);
}

TEST_CASE("items and those they lead to are all done, the largest first") {
    for (const unsigned n_threads : {1U, 3U}) {
        const Context context(n_threads);
        std::atomic<int> sum{0};
        std::vector<int> taken;
        run_growing(
            context, Vector<int>{3, 8, 5}, [](int item) { return item; },
            [&](int& item, const auto& push, unsigned) {
                if (n_threads == 1) taken.push_back(item);
                sum += item;
                if (item > 1) push(item / 2);
            });
        CHECK(sum == 8 + 4 + 2 + 1 + 5 + 2 + 1 + 3 + 1);
        if (n_threads == 1) CHECK(taken == std::vector<int>{8, 5, 4, 3, 2, 2, 1, 1, 1});
    }
}

TEST_CASE("an item that throws ends the work of all threads") {
    const Context context(3);
    const auto body = [](int& item, const auto& push, unsigned) {
        if (item == 7) throw std::invalid_argument("7");
        push(item + 1);
    };
    CHECK_THROWS_WITH_AS(run_growing(
                             context, Vector<int>{1}, [](int item) { return item; }, body),
                         "7", std::invalid_argument);
}

TEST_CASE("a crew divides a run so that no part exceeds a quarter of the share of a thread") {
    const Context context(4);
    const Crew crew(context);
    CHECK(crew.is_full_share(250, 1000));
    CHECK_FALSE(crew.is_full_share(249, 1000));
    CHECK_FALSE(Crew(context, true).is_full_share(1000, 1000));
    Vector<Range> parts;
    crew.divide({10, 210}, 1000, parts);
    REQUIRE(parts.size() == 4);
    CHECK(parts[0].begin == 10);
    for (std::int64_t i = 1; i < 4; ++i) CHECK(parts[i].begin == parts[i - 1].end);
    CHECK(parts[3].end == 210);
}
