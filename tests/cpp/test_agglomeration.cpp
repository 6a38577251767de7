// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cstdint>

#include "core/agglomeration/agglomeration.hpp"
#include "core/base/bitset.hpp"

using namespace defrag;

TEST_CASE("groups are added up, in order, and dropped features are gone") {
    Csr matrix;
    matrix.n_cols = 5;
    matrix.indptr = {0, 4, 4, 5};
    matrix.indices = {0, 1, 3, 4, 2};
    matrix.data = {1.0F, 2.0F, 4.0F, 8.0F, 16.0F};
    const Vector<std::int32_t> groups{2, 0, -1, 2, 0};
    const Vector<float> scale{1.0F, 1.0F, 0.5F};

    const Csr sum =
        agglomerate(Context(2), matrix.view(), groups.data(), 3, Pooling::kSum, nullptr);
    CHECK(sum.indptr == Vector<std::int64_t>{0, 2, 2, 2});
    CHECK(sum.indices == Vector<std::int32_t>{0, 2});
    CHECK(sum.data == Vector<float>{10.0F, 5.0F});

    const Csr mean = agglomerate(Context(1), matrix.view(), groups.data(), 3, Pooling::kMeanNonzero,
                                 scale.data());
    CHECK(mean.data == Vector<float>{5.0F, 1.25F});
}

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
