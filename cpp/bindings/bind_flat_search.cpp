// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/label_tree_arrays.hpp"
#include "core/flat_search.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// The kernel for one type of outputs; numpy's type chooses among them.
template <class Output>
void bind(nb::module_& m) {
    m.def(
        "flat_search",
        [](Array<std::int64_t> feature_ptr, Array<Output> outputs, Array<float> weights,
           Array<float> bias, Array<std::int32_t> labels, Array<std::int32_t> by_bias,
           const CsrArrays& X, std::int64_t k, unsigned n_threads, const nb::object& progress) {
            require(feature_ptr.size() > 0 && outputs.size() == weights.size() &&
                        feature_ptr.data()[feature_ptr.size() - 1] ==
                            static_cast<std::int64_t>(outputs.size()),
                    "feature_ptr, outputs and weights must fit each other");
            require(labels.size() == bias.size() && by_bias.size() == bias.size(),
                    "labels, bias and by_bias must have one entry per output");
            FlatModel<Output> model;
            model.n_features = static_cast<std::int64_t>(feature_ptr.size()) - 1;
            model.n_outputs = static_cast<std::int64_t>(bias.size());
            model.feature_ptr = feature_ptr.data();
            model.outputs = outputs.data();
            model.weights = weights.data();
            model.bias = bias.data();
            model.labels = labels.data();
            model.by_bias = by_bias.data();
            const CsrView rows = csr_view(X, model.n_features);
            return to_numpy(run(n_threads, progress, [&](const Context& context) {
                return flat_search(context, model, rows, k);
            }));
        },
        "feature_ptr"_a.noconvert(), "outputs"_a.noconvert(), "weights"_a.noconvert(),
        "bias"_a.noconvert(), "labels"_a.noconvert(), "by_bias"_a.noconvert(), "X"_a.noconvert(),
        nb::kw_only(), "k"_a, "n_threads"_a, "progress"_a.none());
}

}  // namespace

void bind_flat_search(nb::module_& m) {
    bind<std::uint16_t>(m);
    bind<std::int32_t>(m);
}
