// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/agglomeration/tree.hpp"
#include "core/base/random.hpp"

using namespace defrag;

namespace {

/// Unit rows with a few random coordinates each.
Csr random_items(std::int64_t n_items, std::int64_t n_coords, std::uint64_t seed) {
    Csr items;
    items.n_cols = n_coords;
    for (std::int64_t i = 0; i < n_items; ++i) {
        Stream stream(seed, Stage::kTreeSplit, static_cast<std::uint64_t>(i));
        Vector<std::int32_t> chosen;
        for (int k = 0; k < 4; ++k) {
            chosen.push_back(static_cast<std::int32_t>(stream.below(n_coords)));
        }
        std::sort(chosen.begin(), chosen.end());
        chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
        for (const std::int32_t coordinate : chosen) {
            items.indices.push_back(coordinate);
            items.data.push_back(1.0F / std::sqrt(static_cast<float>(chosen.size())));
        }
        items.indptr.push_back(items.indices.size());
    }
    return items;
}

/// Three levels: 4 leaves of n / 4 items.
struct Shape {
    explicit Shape(std::int64_t n)
        : begin{0, 0, n / 2, 0, n / 4, n / 2, 3 * n / 4},
          end{n, n / 2, n, n / 4, n / 2, 3 * n / 4, n} {}
    Vector<std::int32_t> first_child{1, 3, 5, -1, -1, -1, -1};
    Vector<std::int64_t> begin;
    Vector<std::int64_t> end;
    TreeShape view() const { return {7, first_child.data(), begin.data(), end.data()}; }
};

}  // namespace

TEST_CASE("leaves partition the items, the same way for any number of threads") {
    const Csr items = random_items(4000, 300, 1);
    const Shape shape(4000);
    for (const SplitRule rule : {SplitRule::kKMeans, SplitRule::kNdcg}) {
        const SplitOptions options{rule, 1e-4, 50};
        const TreeResult first = split_items(Context(1), items.view(), shape.view(), options);
        Vector<std::int32_t> sorted = first.order;
        std::sort(sorted.begin(), sorted.end());
        for (std::int32_t i = 0; i < 4000; ++i) CHECK(sorted[i] == i);
        for (const unsigned n_threads : {2U, 3U, 8U}) {
            const TreeResult other =
                split_items(Context(n_threads), items.view(), shape.view(), options);
            CHECK(other.order == first.order);
            CHECK(other.objective == first.objective);
        }
    }
}

TEST_CASE("two kinds of items are told apart") {
    Csr items;
    items.n_cols = 2;
    for (std::int32_t i = 0; i < 8; ++i) {
        items.indices.push_back(i % 2);
        items.data.push_back(1.0F);
        items.indptr.push_back(i + 1);
    }
    const Vector<std::int32_t> first_child{1, -1, -1};
    const Vector<std::int64_t> begin{0, 0, 4};
    const Vector<std::int64_t> end{8, 4, 8};
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const SplitOptions options{SplitRule::kKMeans, 1e-4, 50, seed};
        const TreeResult tree =
            split_items(Context(1), items.view(),
                        TreeShape{3, first_child.data(), begin.data(), end.data()}, options);
        for (std::int64_t i = 1; i < 4; ++i) CHECK(tree.order[i] % 2 == tree.order[0] % 2);
        CHECK(tree.objective[0] == doctest::Approx(1.0));
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
