// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bindings/label_tree_arrays.hpp"
#include "bindings/solver_options.hpp"
#include "core/beam_search.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

void bind_average_trees(nb::module_& m) {
    m.def(
        "average_trees",
        [](const nb::list& answers, std::int64_t n_rows, std::int64_t k, unsigned n_threads) {
            Vector<TopLabels> trees;
            for (const auto& [labels, scores] :
                 items_of<std::pair<Array<std::int32_t>, Array<float>>>(answers)) {
                require(labels.size() == scores.size() && n_rows >= 0 && k >= 0 &&
                            labels.size() %
                                    static_cast<std::size_t>(std::max<std::int64_t>(n_rows, 1)) ==
                                0,
                        "labels and scores of a tree must have the same number of entries per row");
                TopLabels& tree = trees.emplace_back();
                tree.k =
                    static_cast<std::int64_t>(labels.size()) / std::max<std::int64_t>(n_rows, 1);
                tree.labels.assign(labels.data(), labels.data() + labels.size());
                tree.scores.assign(scores.data(), scores.data() + scores.size());
            }
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return average_trees(context, trees, n_rows, k);
            }));
        },
        "answers"_a, nb::kw_only(), "n_rows"_a, "k"_a, "n_threads"_a);
}

void bind_feature_index(nb::module_& m) {
    nb::class_<FeatureIndex>(m, "FeatureIndex")
        .def(
            "__init__",
            [](FeatureIndex* self, Array<std::int64_t> feature_ptr, Array<std::int32_t> features,
               Array<std::int64_t> entry_ptr) {
                const auto n_features = static_cast<std::int64_t>(features.size());
                require(feature_ptr.size() > 0 && entry_ptr.size() == features.size() + 1 &&
                            feature_ptr.data()[feature_ptr.size() - 1] == n_features,
                        "feature_ptr, features and entry_ptr must fit each other");
                new (self) FeatureIndex(feature_ptr.data(), features.data(), entry_ptr.data(),
                                        static_cast<std::int64_t>(feature_ptr.size()) - 1);
            },
            "feature_ptr"_a.noconvert(), "features"_a.noconvert(), "entry_ptr"_a.noconvert());
}

}  // namespace

void bind_beam_search(nb::module_& m) {
    bind_average_trees(m);
    bind_feature_index(m);
    m.def(
        "beam_search",
        [](const TreeArrays& tree, const WeightArrays& weights, const CsrArrays& X,
           std::int64_t n_features, const std::string& loss, std::int64_t beam_size, std::int64_t k,
           float discount, int power, const std::string& instructions, const FeatureIndex* index,
           unsigned n_threads, const nb::object& progress) {
            const LabelTreeModel model = make_model(tree, weights, n_features, index);
            const CsrView rows = csr_view(X, n_features);
            const BeamOptions options{
                parse_loss(loss), beam_size, k, discount, power, parse_instructions(instructions)};
            return to_numpy(run(n_threads, progress, [&](const Context& context) {
                return beam_search(context, model, rows, options);
            }));
        },
        "tree"_a.noconvert(), "weights"_a.noconvert(), "X"_a.noconvert(), nb::kw_only(),
        "n_features"_a, "loss"_a, "beam_size"_a, "k"_a, "discount"_a, "power"_a, "instructions"_a,
        "index"_a.none(), "n_threads"_a, "progress"_a.none());
}
