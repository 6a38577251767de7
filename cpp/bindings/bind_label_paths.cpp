// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/paths.hpp"

#include <limits>

#include "bindings/label_tree_arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_label_paths(nb::module_& m) {
    m.def(
        "label_paths",
        [](const TreeArrays& tree, const TreeWeightArrays& weights,
           const Array<std::int32_t>& places, const Array<std::int32_t>& features) {
            constexpr std::int64_t any_width = std::numeric_limits<std::int32_t>::max();
            const LabelTreeModel model = make_model(tree, weights, any_width, nullptr);
            LabelPaths paths = run(1, nb::none(), [&](const Context&) {
                return label_paths(model, places.data(), n_items(places), features.data(),
                                   n_items(features));
            });
            const std::int64_t n_steps = paths.nodes.size();
            return std::tuple(to_numpy(std::move(paths.step_ptr)), to_numpy(std::move(paths.nodes)),
                              to_numpy(std::move(paths.outputs)), to_numpy(std::move(paths.bias)),
                              to_numpy(std::move(paths.weights), n_steps, n_items(features)));
        },
        "tree"_a, "weights"_a, "places"_a, "features"_a);
}
