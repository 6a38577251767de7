// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cstdint>

#include "core/search/flat_search.hpp"

using namespace defrag;

TEST_CASE("touched and untouched outputs are ranked together") {
    // Eight outputs with biases 0, -1 ... -7; feature 0 lifts output 7 by 6, feature 1 none.
    const Vector<std::int64_t> feature_ptr{0, 1, 1};
    const Vector<std::uint16_t> outputs{7};
    const Vector<float> weights{6.0F};
    Vector<float> bias;
    Vector<std::int32_t> labels;
    Vector<std::int32_t> by_bias;
    for (std::int32_t o = 0; o < 8; ++o) {
        bias.push_back(-static_cast<float>(o));
        labels.push_back(10 * o);
        by_bias.push_back(o);
    }
    FlatModel<std::uint16_t> model;
    model.n_features = 2;
    model.n_outputs = 8;
    model.feature_ptr = feature_ptr.data();
    model.outputs = outputs.data();
    model.weights.floats.values = weights.data();
    model.bias = bias.data();
    model.labels = labels.data();
    model.by_bias = by_bias.data();
    const Vector<std::int64_t> indptr{0, 1, 1, 2};
    const Vector<std::int32_t> indices{0, 1};
    const Vector<float> data{1.0F, 1.0F};
    const CsrView X{3, 2, indptr.data(), indices.data(), data.data()};
    for (const unsigned n_threads : {1U, 3U}) {
        const TopLabels top = flat_search(Context(n_threads), model, X, 3);
        // Output 7 ties with output 1, whose label is smaller.
        CHECK(top.labels == Vector<std::int32_t>{0, 10, 70, 0, 10, 20, 0, 10, 20});
        CHECK(top.scores[0] == 0.5F);
        CHECK(top.scores[1] == top.scores[2]);
    }
}
