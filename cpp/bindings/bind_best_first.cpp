// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include "bindings/label_tree_arrays.hpp"
#include "bindings/solver_options.hpp"
#include "core/best_first.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_best_first(nb::module_& m) {
    m.def(
        "best_first_search",
        [](const TreeArrays& tree, const WeightArrays& weights, const CsrArrays& X,
           std::int64_t n_features, const std::string& loss, std::int64_t k,
           const std::string& instructions, const FeatureIndex* index, unsigned n_threads,
           const nb::object& progress) {
            const LabelTreeModel model = make_model(tree, weights, n_features, index);
            const CsrView rows = csr_view(X, n_features);
            const BestFirstOptions options{parse_loss(loss), k, parse_instructions(instructions)};
            return to_numpy(run(n_threads, progress, [&](const Context& context) {
                return best_first_search(context, model, rows, options);
            }));
        },
        "tree"_a.noconvert(), "weights"_a.noconvert(), "X"_a.noconvert(), nb::kw_only(),
        "n_features"_a, "loss"_a, "k"_a, "instructions"_a, "index"_a.none(), "n_threads"_a,
        "progress"_a.none());
}
