// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/label_tree_arrays.hpp"
#include "core/label_tree.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// Rows of (node, first block, last block).
using BlockArray = nb::ndarray<const std::int64_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

nb::tuple to_python(LabelTreeWeights&& weights) {
    return nb::make_tuple(
        to_numpy(std::move(weights.feature_ptr)), to_numpy(std::move(weights.features)),
        to_numpy(std::move(weights.entry_ptr)), to_numpy(std::move(weights.outputs)),
        to_numpy(std::move(weights.weights)), to_numpy(std::move(weights.bias_ptr)),
        to_numpy(std::move(weights.bias)));
}

}  // namespace

void bind_label_tree(nb::module_& m) {
    m.def(
        "train_label_tree",
        [](const CsrArrays& X, const CsrArrays& positives, const TreeArrays& tree,
           std::int64_t n_features, const SolverOptions& solver, bool scale_cost,
           unsigned n_threads, const nb::object& progress) {
            const CsrView rows = csr_view(X, n_features);
            const CsrView points_of_label = csr_view(positives, rows.n_rows);
            const LabelTreeView view = tree_view(tree);
            return to_python(run(n_threads, progress, [&](const Context& context) {
                return train_label_tree(context, rows, points_of_label, view, {solver, scale_cost});
            }));
        },
        "X"_a.noconvert(), "positives"_a.noconvert(), "tree"_a.noconvert(), nb::kw_only(),
        "n_features"_a, "solver"_a, "scale_cost"_a, "n_threads"_a, "progress"_a.none());
    m.def(
        "train_node_blocks",
        [](const CsrArrays& X, const CsrArrays& positives, const TreeArrays& tree,
           const BlockArray& blocks, std::int64_t n_features, const SolverOptions& solver,
           bool scale_cost, unsigned n_threads, const nb::object& progress) {
            const CsrView rows = csr_view(X, n_features);
            const CsrView points_of_label = csr_view(positives, rows.n_rows);
            const LabelTreeView view = tree_view(tree);
            Vector<NodeBlocks> items(static_cast<std::int64_t>(blocks.shape(0)));
            for (std::int64_t i = 0; i < items.size(); ++i) {
                const std::int64_t* item = blocks.data() + 3 * i;
                items[i] = {item[0], item[1], item[2]};
            }
            return to_python(run(n_threads, progress, [&](const Context& context) {
                return train_node_blocks(context, rows, points_of_label, view, {solver, scale_cost},
                                         items);
            }));
        },
        "X"_a.noconvert(), "positives"_a.noconvert(), "tree"_a.noconvert(), "blocks"_a.noconvert(),
        nb::kw_only(), "n_features"_a, "solver"_a, "scale_cost"_a, "n_threads"_a,
        "progress"_a.none());
}
