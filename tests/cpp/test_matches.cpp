// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cstdint>

#include "core/agglomeration/matches.hpp"

using namespace defrag;

namespace {

/// Row i has the coordinates i % 3 and 3 + i % 2, each with the value 1.
Csr pairs(std::int32_t n_rows) {
    Csr rows;
    rows.n_cols = 5;
    for (std::int32_t i = 0; i < n_rows; ++i) {
        rows.indices.insert(rows.indices.end(), {i % 3, 3 + i % 2});
        rows.data.insert(rows.data.end(), {1.0F, 1.0F});
        rows.indptr.push_back(rows.indices.size());
    }
    return rows;
}

}  // namespace

TEST_CASE("rows that are alike find each other, whatever the threads and the dense lines") {
    const Csr left = pairs(600);
    // Columns are the first six rows: the transposed matrix of pairs(6).
    Csr right;
    right.n_cols = 6;
    for (std::int32_t coordinate = 0; coordinate < 5; ++coordinate) {
        for (std::int32_t column = 0; column < 6; ++column) {
            if (column % 3 != coordinate && 3 + column % 2 != coordinate) continue;
            right.indices.push_back(column);
            right.data.push_back(1.0F);
        }
        right.indptr.push_back(right.indices.size());
    }
    const Vector<std::int32_t> own(600, 0);
    for (const unsigned n_threads : {1U, 3U}) {
        for (const std::int64_t dense_share : {0, 2, 100}) {
            for (const std::int64_t dense_bytes : {0, 64, 1 << 20}) {
                const Matches found = best_matches(Context(n_threads), left.view(), right.view(), 2,
                                                   own.data(), dense_share, dense_bytes);
                for (std::int64_t row = 0; row < 600; ++row) {
                    CHECK(found.indptr[row + 1] == found.indptr[row] + 2);
                    CHECK(found.columns[2 * row] == static_cast<std::int32_t>(row % 6));
                    CHECK(found.scores[2 * row] == 2.0F);
                    CHECK(found.scores[2 * row + 1] == 1.0F);
                    CHECK(found.own[row] == static_cast<float>((row % 3 == 0) + (row % 2 == 0)));
                }
            }
        }
    }
}

TEST_CASE("matches of nothing") {
    const Matches found =
        best_matches(Context(2), Csr().view(), Csr().view(), 3, nullptr, 8, 1 << 20);
    CHECK(found.columns.empty());
    CHECK(found.own.empty());
}
