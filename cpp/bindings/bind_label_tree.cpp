// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/label_tree_arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// Rows of (node, first block, last block).
using BlockArray = nb::ndarray<const std::int64_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

Vector<NodeBlocks> to_items(const BlockArray& blocks) {
    Vector<NodeBlocks> items(static_cast<std::int64_t>(blocks.shape(0)));
    for (std::int64_t i = 0; i < items.size(); ++i) {
        const std::int64_t* item = blocks.data() + 3 * i;
        items[i] = {item[0], item[1], item[2]};
    }
    return items;
}

/// The arrays of the weights, in the order of their names in TreeWeightArrays.
auto to_python(LabelTreeWeights&& weights) {
    return std::tuple(to_numpy(std::move(weights.feature_ptr)),
                      to_numpy(std::move(weights.features)), to_numpy(std::move(weights.entry_ptr)),
                      to_numpy(std::move(weights.outputs)), to_numpy(std::move(weights.weights)),
                      to_numpy(std::move(weights.bias_ptr)), to_numpy(std::move(weights.bias)));
}

}  // namespace

void bind_label_tree(nb::module_& m) {
    m.def(
        "train_label_tree",
        [](const CsrView& X, const CsrView& positives, const TreeArrays& tree,
           const SolverOptions& solver, const std::optional<BlockArray>& blocks, bool scale_cost,
           unsigned n_threads, const nb::object& progress) {
            require(positives.n_cols == X.n_rows, "positives must have one column per row of X");
            const LabelTreeView view = tree.view();
            const Vector<NodeBlocks> items = blocks ? to_items(*blocks) : all_blocks(view);
            return to_python(run(n_threads, progress, [&](const Context& context) {
                return train_label_tree(context, X, positives, view, {solver, scale_cost}, items);
            }));
        },
        "X"_a, "positives"_a, "tree"_a, "options"_a, nb::kw_only(), "blocks"_a = nb::none(),
        "scale_cost"_a, "n_threads"_a, "progress"_a = nb::none());
}
