// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cstdint>

#include "core/agglomeration/kmeans.hpp"

using namespace defrag;

namespace {

/// Items that lie on axes: item i on axis i % n_axes; every tenth is empty.
Csr on_axes(std::int32_t n_items, std::int32_t n_axes) {
    Csr items;
    items.n_cols = n_axes;
    for (std::int32_t i = 0; i < n_items; ++i) {
        if (i % 10 != 9) {
            items.indices.push_back(i % n_axes);
            items.data.push_back(1.0F);
        }
        items.indptr.push_back(items.indices.size());
    }
    return items;
}

}  // namespace

TEST_CASE("one cluster per axis, whatever the threads and the parts") {
    const Csr items = on_axes(700, 7);
    for (const unsigned n_threads : {1U, 3U}) {
        for (const std::int64_t panel_bytes : {std::int64_t{1}, std::int64_t{1} << 20}) {
            KMeansOptions options;
            options.n_clusters = 200;
            options.panel_bytes = panel_bytes;
            const KMeansResult found = spherical_kmeans(Context(n_threads), items.view(), options);
            CHECK(found.n_rounds == 2);
            CHECK(found.objective == doctest::Approx(0.9));
            for (std::int64_t i = 0; i + 7 < 700; ++i) {
                CHECK((found.cluster[i] < 0) == (i % 10 == 9));
                const bool both = i % 10 != 9 && (i + 7) % 10 != 9;
                if (both) CHECK(found.cluster[i] == found.cluster[i + 7]);
            }
        }
    }
}

TEST_CASE("k-means of nothing") {
    const KMeansResult found = spherical_kmeans(Context(2), Csr().view(), KMeansOptions());
    CHECK(found.cluster.empty());
    CHECK(found.objective == 0.0);
}
