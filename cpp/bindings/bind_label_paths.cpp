// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/label_tree_arrays.hpp"
#include "core/label_paths.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_label_paths(nb::module_& m) {
    m.def(
        "label_paths",
        [](const TreeArrays& tree, const WeightArrays& weights, Array<std::int32_t> places,
           Array<std::int32_t> features) {
            const LabelTreeModel model = make_model(tree, weights, kAnyWidth, nullptr);
            LabelPaths paths = run(1, nb::none(), [&](const Context&) {
                return label_paths(model, places.data(), static_cast<std::int64_t>(places.size()),
                                   features.data(), static_cast<std::int64_t>(features.size()));
            });
            return nb::make_tuple(
                to_numpy(std::move(paths.step_ptr)), to_numpy(std::move(paths.nodes)),
                to_numpy(std::move(paths.outputs)), to_numpy(std::move(paths.bias)),
                to_numpy(std::move(paths.weights)));
        },
        "tree"_a.noconvert(), "weights"_a.noconvert(), "places"_a.noconvert(),
        "features"_a.noconvert());
}
