// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/best_first.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/label_tree_arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_best_first(nb::module_& m) {
    const BestFirstOptions defaults;
    m.def(
        "best_first_search",
        [](const TreeArrays& tree, const TreeWeightArrays& weights, const CsrView& X, Loss loss,
           std::int64_t k, Instructions instructions, const FeatureIndex* index, unsigned n_threads,
           const nb::object& progress) {
            const LabelTreeModel model = make_model(tree, weights, X.n_cols, index);
            const BestFirstOptions options{loss, k, instructions};
            return to_numpy(run(n_threads, progress,
                                [&](const Context& context) {
                                    return best_first_search(context, model, X, options);
                                }),
                            X.n_rows);
        },
        "tree"_a, "weights"_a, "X"_a, nb::kw_only(), "loss"_a = defaults.loss, "k"_a = defaults.k,
        "instructions"_a = defaults.instructions, "index"_a = nb::none(), "n_threads"_a = 1,
        "progress"_a = nb::none());
}
