// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/solver_options.hpp"
#include "core/beam_search.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

nb::tuple to_python(TopLabels&& top) {
    return nb::make_tuple(to_numpy(std::move(top.labels)), to_numpy(std::move(top.scores)));
}

void bind_average_trees(nb::module_& m) {
    m.def(
        "average_trees",
        [](const std::vector<std::pair<Array<std::int32_t>, Array<float>>>& answers,
           std::int64_t n_rows, std::int64_t top_k, unsigned n_threads) {
            std::vector<TopLabels> trees(answers.size());
            for (std::size_t t = 0; t < answers.size(); ++t) {
                const auto& [labels, scores] = answers[t];
                trees[t].top_k =
                    static_cast<std::int64_t>(labels.size()) / std::max<std::int64_t>(n_rows, 1);
                trees[t].labels.assign(labels.data(), labels.data() + labels.size());
                trees[t].scores.assign(scores.data(), scores.data() + scores.size());
            }
            const Context context = make_context(n_threads, nb::none());
            TopLabels top;
            {
                const nb::gil_scoped_release release;
                top = average_trees(context, trees, n_rows, top_k);
            }
            return to_python(std::move(top));
        },
        "answers"_a, nb::kw_only(), "n_rows"_a, "top_k"_a, "n_threads"_a);
}

void bind_feature_index(nb::module_& m) {
    nb::class_<FeatureIndex>(m, "FeatureIndex")
        .def(
            "__init__",
            [](FeatureIndex* self, Array<std::int64_t> feature_ptr, Array<std::int32_t> features,
               Array<std::int64_t> entry_ptr) {
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
        [](Array<std::int32_t> first_child, Array<std::int32_t> n_children,
           Array<std::int32_t> begin, Array<std::int32_t> end, Array<std::int32_t> order,
           Array<std::int64_t> feature_ptr, Array<std::int32_t> features,
           Array<std::int64_t> entry_ptr, Array<std::uint16_t> outputs, Array<float> weights,
           Array<std::int64_t> bias_ptr, Array<float> bias, Array<std::int64_t> indptr,
           Array<std::int32_t> indices, Array<float> data, std::int64_t n_features,
           const std::string& loss, std::int64_t beam_size, std::int64_t top_k, float discount,
           const std::string& instructions, const FeatureIndex* index, unsigned n_threads,
           const nb::object& progress) {
            LabelTreeModel model;
            model.tree = {static_cast<std::int64_t>(first_child.size()),
                          first_child.data(),
                          n_children.data(),
                          begin.data(),
                          end.data(),
                          order.data()};
            model.n_features = n_features;
            model.feature_ptr = feature_ptr.data();
            model.features = features.data();
            model.entry_ptr = entry_ptr.data();
            model.outputs = outputs.data();
            model.weights = weights.data();
            model.bias_ptr = bias_ptr.data();
            model.bias = bias.data();
            model.index = index;
            const BeamOptions options{parse_loss(loss), beam_size, top_k, discount,
                                      parse_instructions(instructions)};
            const CsrView X = csr_view(indptr, indices, data, n_features);
            const Context context = make_context(n_threads, progress);
            TopLabels top;
            {
                const nb::gil_scoped_release release;
                top = beam_search(context, model, X, options);
            }
            return to_python(std::move(top));
        },
        "first_child"_a.noconvert(), "n_children"_a.noconvert(), "begin"_a.noconvert(),
        "end"_a.noconvert(), "order"_a.noconvert(), "feature_ptr"_a.noconvert(),
        "features"_a.noconvert(), "entry_ptr"_a.noconvert(), "outputs"_a.noconvert(),
        "weights"_a.noconvert(), "bias_ptr"_a.noconvert(), "bias"_a.noconvert(),
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), nb::kw_only(),
        "n_features"_a, "loss"_a, "beam_size"_a, "top_k"_a, "discount"_a, "instructions"_a,
        "index"_a.none(), "n_threads"_a, "progress"_a.none());
}
