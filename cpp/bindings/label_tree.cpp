// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "bindings/csr_caster.hpp"
#include "bindings/label_tree_arrays.hpp"
#include "bindings/run.hpp"
#include "bindings/storage.hpp"
#include "core/label_tree/paths.hpp"
#include "core/label_tree/train.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// Rows of (node, first block, last block).
using BlockArray = nb::ndarray<const std::int64_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

/// The arrays of PointLists.
using PointArrays = std::pair<Array<std::int64_t>, Array<std::int32_t>>;

PointListsView view_of(const PointArrays& lists) {
    const auto& [offsets, points] = lists;
    return {offsets.data(), n_items(offsets), points.data(), n_items(points)};
}

Vector<NodeBlocks> to_items(const BlockArray& blocks) {
    Vector<NodeBlocks> items(static_cast<std::int64_t>(blocks.shape(0)));
    for (std::int64_t i = 0; i < items.size(); ++i) {
        const std::int64_t* item = blocks.data() + 3 * i;
        items[i] = {item[0], item[1], item[2]};
    }
    return items;
}

/// Returns the arrays of the weights in the order of the fields of LabelTreeWeights in Python.
auto to_python(LabelTreeWeights&& weights) {
    return std::tuple(to_numpy(std::move(weights.feature_ptr)),
                      to_numpy(std::move(weights.features)), to_numpy(std::move(weights.entry_ptr)),
                      to_numpy(std::move(weights.outputs)), to_numpy(std::move(weights.weights)),
                      to_numpy(std::move(weights.bias_ptr)), to_numpy(std::move(weights.bias)));
}

template <class Size, class Output>
void bind_inspect_entries(nb::module_& m) {
    m.def(
        "inspect_entries",
        [](const Array<std::int64_t>& feature_ptr, const Array<std::int64_t>& widths,
           const Array<Size>& sizes, const Array<Output>& outputs) {
            require(feature_ptr.size() == widths.size() + 1, "feature_ptr and widths must fit");
            EntriesReport report = run(1, nb::none(), [&](const Context&) {
                return inspect_entries(feature_ptr.data(), widths.data(), n_items(widths),
                                       sizes.data(), n_items(sizes), outputs.data(),
                                       n_items(outputs));
            });
            return std::tuple(to_numpy(std::move(report.starts)), report.not_rising,
                              report.too_large);
        },
        "feature_ptr"_a, "widths"_a, "sizes"_a, "outputs"_a);
}

void bind_label_tree_kernels(nb::module_& m) {
    nb::class_<RootPoints>(m, "RootPoints").def(nb::init<>());
    m.def(
        "train_label_tree",
        [](const CsrView& X, const CsrView& positives, const LabelTreeArrays& tree,
           const SolverOptions& solver, const std::optional<PointArrays>& negatives,
           const std::optional<BlockArray>& blocks, const std::optional<Array<float>>& weights,
           FileStorage* storage, RootPoints* root, unsigned n_threads, const nb::object& progress) {
            check_size(weights, X.n_rows, "weights must have one item per row of X");
            require(positives.n_cols == X.n_rows, "positives must have one column per row of X");
            const LabelTreeShape view = tree.view();
            const Vector<NodeBlocks> items = blocks ? to_items(*blocks) : all_blocks(view);
            const PointListsView lists = negatives ? view_of(*negatives) : PointListsView();
            return to_python(run(n_threads, progress, train_label_tree, X, positives, view, lists,
                                 solver, items, pointer(weights), storage, root));
        },
        "X"_a, "positives"_a, "tree"_a, "options"_a, nb::kw_only(), "negatives"_a = nb::none(),
        "blocks"_a = nb::none(), "weights"_a = nb::none(), "storage"_a.none() = nb::none(),
        "root"_a.none() = nb::none(), "n_threads"_a, "progress"_a = nb::none(),
        nb::keep_alive<9, 8>());
    bind_inspect_entries<std::uint16_t, std::uint8_t>(m);
    bind_inspect_entries<std::uint16_t, std::uint16_t>(m);
    bind_inspect_entries<std::uint32_t, std::uint8_t>(m);
    bind_inspect_entries<std::uint32_t, std::uint16_t>(m);
}

void bind_label_paths(nb::module_& m) {
    m.def(
        "label_paths",
        [](const LabelTreeArrays& tree, const LabelTreeWeightArrays& weights,
           const Array<std::int32_t>& places, const Array<std::int32_t>& features) {
            constexpr std::int64_t any_width = std::numeric_limits<std::int32_t>::max();
            const LabelTreeModel model = label_tree_model(tree, weights, any_width, nullptr);
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

}  // namespace

void bind_label_tree(nb::module_& m) {
    bind_label_tree_kernels(m);
    bind_label_paths(m);
}
