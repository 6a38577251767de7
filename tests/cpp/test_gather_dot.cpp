// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cmath>
#include <cstdint>

#include "core/base/arrays.hpp"
#include "core/base/gather_dot.hpp"
#include "core/base/random.hpp"

using namespace defrag;

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
