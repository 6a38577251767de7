// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cmath>
#include <cstdint>
#include <new>

#include "core/agglomeration/tree.hpp"
#include "core/base/arrays.hpp"
#include "core/base/bitset.hpp"
#include "core/base/gather_dot.hpp"
#include "core/base/random.hpp"

using namespace defrag;

TEST_CASE("an ordered set gives its members back in order and is empty afterwards") {
    OrderedSet set(10000);
    for (const std::int32_t member : {9999, 0, 4095, 4096, 63, 64, 64, 5000}) set.insert(member);
    Vector<std::int32_t> members;
    const auto collect = [&members](std::int32_t member) { members.push_back(member); };
    set.drain(collect);
    CHECK(members == Vector<std::int32_t>{0, 63, 64, 4095, 4096, 5000, 9999});
    members.clear();
    set.drain(collect);
    CHECK(members.empty());
}

TEST_CASE("a gathered product has the same bits in every version, and is right") {
    const GatherDot fastest = select_gather_dot();
    std::uint64_t state = 1;
    Vector<float> dense(97);
    for (float& value : dense)
        value = static_cast<float>(splitmix64(state) % 2001) / 1000.0F - 1.0F;
    for (std::int64_t size = 0; size < 70; ++size) {
        Vector<std::int32_t> indices;
        Vector<float> values;
        double expected = 0.0;
        for (std::int64_t i = 0; i < size; ++i) {
            const auto index = static_cast<std::int64_t>(splitmix64(state) % 97);
            const float value = static_cast<float>(splitmix64(state) % 1000) / 300.0F;
            indices.push_back(static_cast<std::int32_t>(index));
            values.push_back(value);
            expected += static_cast<double>(value) * static_cast<double>(dense[index]);
        }
        const float found = fastest(indices.data(), values.data(), size, dense.data());
        CHECK(found == gather_dot_portable(indices.data(), values.data(), size, dense.data()));
        CHECK(std::abs(static_cast<double>(found) - expected) < 1e-4);
    }
}

TEST_CASE("the order of company keeps copies together and puts zero rows last") {
    Csr items;
    items.n_cols = 10;
    for (std::int32_t i = 0; i < 20; ++i) {
        if (i % 4 != 3) {
            items.indices.push_back(i % 4);
            items.data.push_back(1.0F);
        }
        items.indptr.push_back(items.indices.size());
    }
    const Vector<std::int32_t> order = min_hash_order(Context(1), items.view(), 7);
    for (std::int64_t i = 15; i < 20; ++i) CHECK(order[i] % 4 == 3);
    for (std::int64_t block = 0; block < 15; block += 5) {
        for (std::int64_t i = 1; i < 5; ++i) CHECK(order[block + i] % 4 == order[block] % 4);
    }
}

TEST_CASE("sizes that no memory can hold are failed allocations") {
    CHECK_THROWS_AS(Vector<float>(-1), std::bad_alloc);
    CHECK_THROWS_AS(Vector<float>(std::int64_t{1} << 62), std::bad_alloc);
    CHECK_THROWS_AS(checked_product(std::int64_t{1} << 40, std::int64_t{1} << 40), std::bad_alloc);
}
