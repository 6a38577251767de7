// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "bindings/attributes.hpp"
#include "bindings/csr_caster.hpp"
#include "bindings/label_tree_arrays.hpp"
#include "bindings/run.hpp"
#include "core/search/beam_search.hpp"
#include "core/search/best_first.hpp"
#include "core/search/flat_search.hpp"
#include "core/search/rerank.hpp"
#include "core/search/scores.hpp"
#include "core/search/tree_average.hpp"

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
            return to_numpy(run(n_threads, nb::none(), average_trees, trees, n_rows, k), n_rows);
        },
        "answers"_a, nb::kw_only(), "k"_a, "n_threads"_a = 1);
}

void bind_feature_index(nb::module_& m) {
    nb::class_<FeatureIndex>(m, "FeatureIndex")
        .def(
            "__init__",
            [](FeatureIndex* self, const LabelTreeWeightArrays& weights) {
                const auto& feature_ptr = std::get<0>(weights.arrays);
                const auto& features = std::get<1>(weights.arrays);
                const std::int64_t n_nodes = n_items(feature_ptr) - 1;
                require(n_nodes >= 0 && feature_ptr.data()[n_nodes] == n_items(features),
                        "feature_ptr and features must fit each other");
                new (self) FeatureIndex(feature_ptr.data(), features.data(), n_nodes);
            },
            "weights"_a);
}

/// A label tree whose arrays are taken from Python once: that takes as long as a tenth of the
/// search of a single row.
struct TreeSearch {
    TreeSearch(LabelTreeArrays tree_, LabelTreeWeightArrays weights_, nb::object index_)
        : tree(std::move(tree_)),
          weights(std::move(weights_)),
          index(std::move(index_)),
          model(label_tree_model(tree, weights, 0, nb::cast<const FeatureIndex*>(index))) {}

    LabelTreeArrays tree;
    LabelTreeWeightArrays weights;
    nb::object index;
    LabelTreeModel model;
};

void bind_tree_search(nb::module_& m) {
    nb::class_<TreeSearch>(m, "TreeSearch")
        .def(nb::init<LabelTreeArrays, LabelTreeWeightArrays, nb::object>(), "tree"_a, "weights"_a,
             "index"_a.none())
        .def(
            "__call__",
            [](const TreeSearch& self, const CsrView& X, Loss loss, std::int64_t beam_size,
               std::int64_t k, double discount, double leaf_discount, int power,
               unsigned n_threads) {
                LabelTreeModel model = self.model;
                model.n_features = X.n_cols;
                const BeamOptions options{{loss, discount, leaf_discount, power}, beam_size, k};
                return to_numpy(run(n_threads, nb::none(), beam_search, model, X, options),
                                X.n_rows);
            },
            "X"_a, nb::kw_only(), "loss"_a, "beam_size"_a, "k"_a, "discount"_a, "leaf_discount"_a,
            "power"_a, "n_threads"_a);
}

void bind_beam_search(nb::module_& m) {
    bind_average_trees(m);
    bind_feature_index(m);
    bind_tree_search(m);
    const BeamOptions defaults;
    m.def(
        "beam_search",
        [](const LabelTreeArrays& tree, const LabelTreeWeightArrays& weights, const CsrView& X,
           Loss loss, std::int64_t beam_size, std::int64_t k, double discount,
           std::optional<double> leaf_discount, int power, Instructions instructions,
           const FeatureIndex* index, unsigned n_threads, const nb::object& progress) {
            const LabelTreeModel model = label_tree_model(tree, weights, X.n_cols, index);
            const EdgeScore score{loss, discount, leaf_discount.value_or(discount), power};
            const BeamOptions options{score, beam_size, k, instructions};
            return to_numpy(run(n_threads, progress, beam_search, model, X, options), X.n_rows);
        },
        "tree"_a, "weights"_a, "X"_a, nb::kw_only(), "loss"_a = defaults.score.loss,
        "beam_size"_a = defaults.beam_size, "k"_a = defaults.k,
        "discount"_a = defaults.score.discount, "leaf_discount"_a = nb::none(),
        "power"_a = defaults.score.power, "instructions"_a = defaults.instructions,
        "index"_a = nb::none(), "n_threads"_a = 1, "progress"_a = nb::none());
    m.def(
        "search_trees",
        [](const nb::list& trees, const CsrView& X, Loss loss, std::int64_t beam_size,
           std::int64_t k, double discount, double leaf_discount, int power, unsigned n_threads) {
            Vector<Member> members;
            for (const auto& [tree, places] :
                 items_of<std::pair<const TreeSearch*, Array<std::int32_t>>>(trees)) {
                require(tree != nullptr && tree->model.tree.n_nodes > 0, "a tree must have a node");
                members.push_back({tree->model, places.data(), n_items(places)});
                members.back().model.n_features = X.n_cols;
            }
            const BeamOptions options{{loss, discount, leaf_discount, power}, beam_size, k};
            return to_numpy(run(n_threads, nb::none(), search_trees, members, X, options),
                            X.n_rows);
        },
        "trees"_a, "X"_a, nb::kw_only(), "loss"_a, "beam_size"_a, "k"_a, "discount"_a,
        "leaf_discount"_a, "power"_a, "n_threads"_a = 1);
    m.def(
        "reached_leaves",
        [](const LabelTreeArrays& tree, const LabelTreeWeightArrays& weights, const CsrView& X,
           Loss loss, std::int64_t beam_size, double discount, int power, unsigned n_threads,
           const nb::object& progress) {
            const LabelTreeModel model = label_tree_model(tree, weights, X.n_cols, nullptr);
            BeamOptions options;
            options.score = {loss, discount, discount, power};
            options.beam_size = beam_size;
            PointLists lists = run(n_threads, progress, reached_leaves, model, X, options);
            return std::pair(to_numpy(std::move(lists.begin)), to_numpy(std::move(lists.points)));
        },
        "tree"_a, "weights"_a, "X"_a, nb::kw_only(), "loss"_a, "beam_size"_a, "discount"_a,
        "power"_a, "n_threads"_a, "progress"_a = nb::none());
}

void bind_path_parts(nb::module_& m) {
    const EdgeScore defaults;
    m.def(
        "path_parts",
        [](const LabelTreeArrays& tree, const LabelTreeWeightArrays& weights,
           const Array<std::int32_t>& places, const Array<std::int32_t>& features,
           const Array<float>& values, const Array<float>& units, Loss loss, double discount,
           std::optional<double> leaf_discount, int power) {
            constexpr std::int64_t any_width = std::numeric_limits<std::int32_t>::max();
            require(values.size() == features.size() && units.size() == features.size(),
                    "values and units must have one entry per feature");
            const LabelTreeModel model = label_tree_model(tree, weights, any_width, nullptr);
            const PathRow row{features.data(), values.data(), units.data(), n_items(features)};
            PathParts parts = run(1, nb::none(), [&](const Context&) {
                return explain_paths(model, places.data(), n_items(places), row,
                                     {loss, discount, leaf_discount.value_or(discount), power});
            });
            const std::int64_t n_steps = parts.nodes.size();
            return std::tuple(
                to_numpy(std::move(parts.step_ptr)), to_numpy(std::move(parts.nodes)),
                to_numpy(std::move(parts.outputs)), to_numpy(std::move(parts.step_scores)),
                to_numpy(std::move(parts.step_bases)),
                to_numpy(std::move(parts.contributions), n_steps, n_items(features)),
                to_numpy(std::move(parts.scores)), to_numpy(std::move(parts.bases)),
                to_numpy(std::move(parts.without), n_items(places), n_items(features)));
        },
        "tree"_a, "weights"_a, "places"_a, "features"_a, "values"_a, "units"_a, nb::kw_only(),
        "loss"_a = defaults.loss, "discount"_a = defaults.discount, "leaf_discount"_a = nb::none(),
        "power"_a = defaults.power);
}

void bind_best_first(nb::module_& m) {
    const BestFirstOptions defaults;
    m.def(
        "best_first_search",
        [](const LabelTreeArrays& tree, const LabelTreeWeightArrays& weights, const CsrView& X,
           Loss loss, std::int64_t k, Instructions instructions, const FeatureIndex* index,
           unsigned n_threads, const nb::object& progress) {
            const LabelTreeModel model = label_tree_model(tree, weights, X.n_cols, index);
            const BestFirstOptions options{loss, k, instructions};
            return to_numpy(run(n_threads, progress, best_first_search, model, X, options),
                            X.n_rows);
        },
        "tree"_a, "weights"_a, "X"_a, nb::kw_only(), "loss"_a = defaults.loss, "k"_a = defaults.k,
        "instructions"_a = defaults.instructions, "index"_a = nb::none(), "n_threads"_a = 1,
        "progress"_a = nb::none());
}

/// The arrays of a one-vs-rest model. Outputs have one of two types; weights have the type used in
/// training or that of a model file.
template <class Output>
struct FlatArrays : Attributes {
    static constexpr auto kType = nb::detail::const_name("defrag._native.FlatWeights");
    static constexpr const char* kNames[] = {"feature_ptr", "outputs", "bias", "labels", "by_bias"};
    std::tuple<Array<std::int64_t>, Array<Output>, Array<float>, Array<std::int32_t>,
               Array<std::int32_t>>
        arrays;
    AnyArray weights;
    std::optional<Array<float>> scales;

    bool load_more(nb::handle source, nb::detail::cleanup_list* cleanup) {
        return load_array(source.attr("weights"), 0, cleanup, weights) &&
               load_array(source.attr("scales"), 0, cleanup, scales);
    }

    FlatModel<Output> view() const {
        const auto& [feature_ptr, outputs, bias, labels, by_bias] = arrays;
        FlatModel<Output> model;
        model.n_features = n_items(feature_ptr) - 1;
        model.n_outputs = n_items(bias);
        require(model.n_features >= 0 && outputs.size() == weights.size() &&
                    feature_ptr.data()[model.n_features] == n_items(outputs),
                "feature_ptr, outputs and weights must fit each other");
        require(labels.size() == bias.size() && by_bias.size() == bias.size(),
                "labels, bias and by_bias must have one entry per output");
        model.feature_ptr = feature_ptr.data();
        model.outputs = outputs.data();
        model.weights = stored_weights(weights, scales);
        require(model.weights.bytes.values == nullptr ||
                    (scales && n_items(*scales) == model.n_features),
                "weights of int8 must have a scale per feature");
        model.bias = bias.data();
        model.labels = labels.data();
        model.by_bias = by_bias.data();
        return model;
    }
};

template <class Output>
void bind_flat_search_of(nb::module_& m) {
    m.def(
        "flat_search",
        [](const FlatArrays<Output>& weights, const CsrView& X, std::int64_t k, unsigned n_threads,
           const nb::object& progress) {
            const FlatModel<Output> model = weights.view();
            require(X.n_cols <= model.n_features, "X has more features than the model");
            return to_numpy(
                run(n_threads, progress,
                    [&](const Context& context) { return flat_search(context, model, X, k); }),
                X.n_rows);
        },
        "weights"_a, "X"_a, nb::kw_only(), "k"_a, "n_threads"_a = 1, "progress"_a = nb::none());
}

void bind_flat_search(nb::module_& m) {
    bind_flat_search_of<std::uint16_t>(m);
    bind_flat_search_of<std::int32_t>(m);
}

/// Returns a view of a candidate table after checking that all labels are below `n_labels`.
CandidateTable candidate_table(const Matrix<std::int32_t>& labels, std::int64_t n_labels,
                               const char* rule) {
    require(std::all_of(labels.data(), labels.data() + labels.size(),
                        [&](std::int32_t label) { return label < n_labels; }),
            rule);
    return {static_cast<std::int64_t>(labels.shape(0)), static_cast<std::int64_t>(labels.shape(1)),
            labels.data()};
}

void bind_rerank(nb::module_& m) {
    m.def(
        "candidate_products",
        [](const CsrView& X, const Matrix<std::int32_t>& labels, const ModelCsr& prototypes,
           unsigned n_threads) {
            const CandidateTable table = candidate_table(labels, prototypes.view.n_rows,
                                                         "a candidate must have a prototype");
            require(table.n_rows == X.n_rows, "labels must have one row per row of X");
            require(prototypes.view.n_cols <= X.n_cols,
                    "prototypes must not have more features than X");
            return to_numpy(
                run(n_threads, nb::none(), candidate_products, X, table, prototypes.view),
                table.n_rows, table.n_columns);
        },
        "X"_a, "labels"_a, "prototypes"_a, nb::kw_only(), "n_threads"_a);
    m.def(
        "rank_candidates",
        [](const Matrix<std::int32_t>& labels, const Matrix<float>& log_scores,
           const Matrix<float>& cosines, const Array<float>& bonus, const Array<float>& strengths,
           const Array<float>& weights, std::int64_t k, unsigned n_threads) {
            const CandidateTable table =
                candidate_table(labels, n_items(bonus), "a candidate must have a bonus");
            const auto beside = [&](const Matrix<float>& values) {
                return values.shape(0) == labels.shape(0) && values.shape(1) == labels.shape(1);
            };
            require(beside(log_scores) && beside(cosines),
                    "labels, log_scores and cosines must have the same shape");
            require(strengths.size() == weights.size() && k >= 0,
                    "strengths and weights must have the same length, and k be >= 0");
            const Weighings weighings{n_items(strengths), strengths.data(), weights.data()};
            return to_numpy(run(n_threads, nb::none(), rank_candidates, table, log_scores.data(),
                                cosines.data(), bonus.data(), weighings, k),
                            table.n_rows, weighings.n, k);
        },
        "labels"_a, "log_scores"_a, "cosines"_a, "bonus"_a, nb::kw_only(), "strengths"_a,
        "weights"_a, "k"_a, "n_threads"_a);
}

}  // namespace

void bind_search(nb::module_& m) {
    bind_beam_search(m);
    bind_path_parts(m);
    bind_best_first(m);
    bind_flat_search(m);
    bind_rerank(m);
}
