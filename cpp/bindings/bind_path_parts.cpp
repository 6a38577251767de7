// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/path_parts.hpp"

#include <limits>

#include "bindings/label_tree_arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_path_parts(nb::module_& m) {
    const PathScore defaults;
    m.def(
        "path_parts",
        [](const TreeArrays& tree, const TreeWeightArrays& weights,
           const Array<std::int32_t>& places, const Array<std::int32_t>& features,
           const Array<float>& values, const Array<float>& units, Loss loss, double discount,
           int power) {
            constexpr std::int64_t any_width = std::numeric_limits<std::int32_t>::max();
            require(values.size() == features.size() && units.size() == features.size(),
                    "values and units must have one entry per feature");
            const LabelTreeModel model = make_model(tree, weights, any_width, nullptr);
            const PathRow row{features.data(), values.data(), units.data(), n_items(features)};
            PathParts parts = run(1, nb::none(), [&](const Context&) {
                return path_parts(model, places.data(), n_items(places), row,
                                  {loss, discount, power});
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
        "loss"_a = defaults.loss, "discount"_a = defaults.discount, "power"_a = defaults.power);
}
