// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/beam_search.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/label_tree_arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

void bind_average_trees(nb::module_& m) {
    m.def(
        "average_trees",
        [](const nb::list& answers, std::int64_t k, unsigned n_threads) {
            Vector<TopLabels> trees;
            std::int64_t n_rows = 0;
            for (const auto& [labels, scores] :
                 items_of<std::pair<Matrix<std::int32_t>, Matrix<float>>>(answers)) {
                if (trees.empty()) n_rows = static_cast<std::int64_t>(labels.shape(0));
                require(static_cast<std::int64_t>(labels.shape(0)) == n_rows &&
                            labels.shape(0) == scores.shape(0) &&
                            labels.shape(1) == scores.shape(1),
                        "the labels and scores of all trees must be of the same rows");
                TopLabels& tree = trees.emplace_back();
                tree.k = static_cast<std::int64_t>(labels.shape(1));
                tree.labels.assign(labels.data(), labels.data() + labels.size());
                tree.scores.assign(scores.data(), scores.data() + scores.size());
            }
            return to_numpy(run(n_threads, nb::none(),
                                [&](const Context& context) {
                                    return average_trees(context, trees, n_rows, k);
                                }),
                            n_rows);
        },
        "answers"_a, nb::kw_only(), "k"_a, "n_threads"_a = 1);
}

void bind_feature_index(nb::module_& m) {
    nb::class_<FeatureIndex>(m, "FeatureIndex")
        .def(
            "__init__",
            [](FeatureIndex* self, const TreeWeightArrays& weights) {
                const auto& feature_ptr = std::get<0>(weights.arrays);
                const auto& features = std::get<1>(weights.arrays);
                const std::int64_t n_nodes = n_items(feature_ptr) - 1;
                require(n_nodes >= 0 && feature_ptr.data()[n_nodes] == n_items(features),
                        "feature_ptr and features must fit each other");
                new (self) FeatureIndex(feature_ptr.data(), features.data(), n_nodes);
            },
            "weights"_a);
}

}  // namespace

void bind_beam_search(nb::module_& m) {
    bind_average_trees(m);
    bind_feature_index(m);
    const BeamOptions defaults;
    m.def(
        "beam_search",
        [](const TreeArrays& tree, const TreeWeightArrays& weights, const CsrView& X, Loss loss,
           std::int64_t beam_size, std::int64_t k, float discount, int power,
           Instructions instructions, const FeatureIndex* index, unsigned n_threads,
           const nb::object& progress) {
            const LabelTreeModel model = make_model(tree, weights, X.n_cols, index);
            const BeamOptions options{loss, beam_size, k, discount, power, instructions};
            return to_numpy(run(n_threads, progress,
                                [&](const Context& context) {
                                    return beam_search(context, model, X, options);
                                }),
                            X.n_rows);
        },
        "tree"_a, "weights"_a, "X"_a, nb::kw_only(), "loss"_a = defaults.loss,
        "beam_size"_a = defaults.beam_size, "k"_a = defaults.k, "discount"_a = defaults.discount,
        "power"_a = defaults.power, "instructions"_a = defaults.instructions,
        "index"_a = nb::none(), "n_threads"_a = 1, "progress"_a = nb::none());
}
