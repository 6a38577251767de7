// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/flat_search.hpp"

#include "bindings/attributes.hpp"
#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

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
        model.floats.values = items_as<float>(weights);
        model.halves.values = items_as<std::uint16_t>(weights);
        model.bytes.values = items_as<std::int8_t>(weights);
        require(model.floats.values != nullptr || model.halves.values != nullptr ||
                    model.bytes.values != nullptr,
                "weights must be of float32, int8 or uint16, the bits of float16");
        require(model.bytes.values == nullptr || (scales && n_items(*scales) == model.n_features),
                "weights of int8 must have a scale per feature");
        model.scales = pointer(scales);
        model.bias = bias.data();
        model.labels = labels.data();
        model.by_bias = by_bias.data();
        return model;
    }
};

template <class Output>
void bind_search(nb::module_& m) {
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

}  // namespace

void bind_flat_search(nb::module_& m) {
    bind_search<std::uint16_t>(m);
    bind_search<std::int32_t>(m);
}
