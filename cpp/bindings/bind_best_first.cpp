// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include "bindings/arrays.hpp"
#include "bindings/solver_options.hpp"
#include "core/best_first.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// first_child, n_children, begin, end, order.
using TreeArrays = std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>,
                              Array<std::int32_t>, Array<std::int32_t>>;
/// feature_ptr, features, entry_ptr, outputs, weights, bias_ptr, bias.
using WeightArrays =
    std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>, Array<std::uint16_t>,
               Array<float>, Array<std::int64_t>, Array<float>>;

LabelTreeModel make_model(const TreeArrays& tree, const WeightArrays& weights,
                          std::int64_t n_features, const FeatureIndex* index) {
    const auto& [first_child, n_children, begin, end, order] = tree;
    const auto& [feature_ptr, features, entry_ptr, outputs, values, bias_ptr, bias] = weights;
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
    model.weights = values.data();
    model.bias_ptr = bias_ptr.data();
    model.bias = bias.data();
    model.index = index;
    return model;
}

}  // namespace

void bind_best_first(nb::module_& m) {
    m.def(
        "best_first_search",
        [](const TreeArrays& tree, const WeightArrays& weights, const CsrArrays& X,
           std::int64_t n_features, const std::string& loss, std::int64_t top_k,
           const std::string& instructions, const FeatureIndex* index, unsigned n_threads,
           const nb::object& progress) {
            const LabelTreeModel model = make_model(tree, weights, n_features, index);
            const CsrView rows = csr_view(X, n_features);
            const BestFirstOptions options{parse_loss(loss), top_k,
                                           parse_instructions(instructions)};
            TopLabels top = run(n_threads, progress, [&](const Context& context) {
                return best_first_search(context, model, rows, options);
            });
            return nb::make_tuple(to_numpy(std::move(top.labels)), to_numpy(std::move(top.scores)));
        },
        "tree"_a.noconvert(), "weights"_a.noconvert(), "X"_a.noconvert(), nb::kw_only(),
        "n_features"_a, "loss"_a, "top_k"_a, "instructions"_a, "index"_a.none(), "n_threads"_a,
        "progress"_a.none());
}
