// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <algorithm>
#include <cstdint>

#include "core/base/random.hpp"
#include "core/label_tree/train.hpp"
#include "core/search/beam_search.hpp"

using namespace defrag;

namespace {

/// A random matrix with up to `most` non-zeros in a row.
Csr random_matrix(std::int64_t n_rows, std::int64_t n_cols, std::int64_t most, bool ones,
                  std::uint64_t seed) {
    Stream stream(seed, Stage::kBuckets, 0);
    Csr result;
    result.n_cols = n_cols;
    for (std::int64_t row = 0; row < n_rows; ++row) {
        Vector<std::int32_t> columns;
        for (std::int64_t i = stream.below(most + 1); i > 0; --i) {
            const auto column = stream.below(n_cols);
            columns.push_back(static_cast<std::int32_t>(column));
        }
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        for (const std::int32_t column : columns) {
            result.indices.push_back(column);
            result.data.push_back(ones ? 1.0F : static_cast<float>(stream.below(100) + 1) / 100.0F);
        }
        result.indptr.push_back(result.indices.size());
    }
    return result;
}

/// A root of 40 leaves with 2 labels each: three blocks in the root.
struct Tree {
    Vector<std::int32_t> first_child{1};
    Vector<std::int32_t> n_children{40};
    Vector<std::int32_t> begin{0};
    Vector<std::int32_t> end{80};
    Vector<std::int32_t> order;

    Tree() {
        for (std::int32_t leaf = 0; leaf < 40; ++leaf) {
            first_child.push_back(0);
            n_children.push_back(0);
            begin.push_back(2 * leaf);
            end.push_back(2 * leaf + 2);
        }
        for (std::int32_t label = 0; label < 80; ++label) order.push_back(79 - label);
    }
    LabelTreeShape view() const {
        return {41,
                first_child.data(),
                n_children.data(),
                begin.data(),
                end.data(),
                order.data(),
                static_cast<std::int64_t>(order.size())};
    }
};

LabelTreeModel model_of(const Tree& tree, const LabelTreeWeights& w) {
    LabelTreeModel model;
    model.tree = tree.view();
    model.n_features = 50;
    model.feature_ptr = w.feature_ptr.data();
    model.features = w.features.data();
    model.entries.entry_ptr = w.entry_ptr.data();
    model.entries.outputs = w.outputs.data();
    model.entries.weights.floats.values = w.weights.data();
    model.bias_ptr = w.bias_ptr.data();
    model.bias = w.bias.data();
    return model;
}

}  // namespace

TEST_CASE("training and search give the same with any number of threads") {
    const Csr X = random_matrix(600, 50, 12, false, 1);
    const Csr positives = random_matrix(80, 600, 25, true, 2);
    const Tree tree;
    Vector<LabelTreeWeights> trained;
    Vector<TopLabels> found;
    for (const unsigned n_threads : {1U, 4U}) {
        const Context context(n_threads);
        SolverOptions options;
        options.threshold = 0.05F;
        // Negatives of all leaves: the points that the search reaches with the tree without them.
        const auto train = [&](const PointListsView& negatives) {
            return train_label_tree(context, X.view(), positives.view(), tree.view(), negatives,
                                    options, all_blocks(tree.view()));
        };
        const LabelTreeWeights first = train({});
        const PointLists reached =
            reached_leaves(context, model_of(tree, first), X.view(), BeamOptions());
        CHECK(reached.begin.back() > 600);
        trained.push_back(train({reached.begin.data(), reached.begin.size(), reached.points.data(),
                                 reached.points.size()}));
        CHECK(first.weights != trained.back().weights);
        const LabelTreeWeights& w = trained.back();
        const FeatureIndex index(w.feature_ptr.data(), w.features.data(), 41);
        LabelTreeModel model = model_of(tree, w);
        model.index = n_threads == 1 ? nullptr : &index;
        found.push_back(beam_search(context, model, X.view(), BeamOptions()));
    }
    CHECK(trained[0].features == trained[1].features);
    CHECK(trained[0].weights == trained[1].weights);
    CHECK(trained[0].bias == trained[1].bias);
    CHECK(found[0].labels == found[1].labels);
    CHECK(found[0].scores == found[1].scores);
    const Context context(4);
    const TopLabels mean = average_trees(context, found, 600, 5);
    CHECK(mean.labels == found[0].labels);
}
