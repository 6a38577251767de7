// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/label_tree.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

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
        [](Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<float> data,
           Array<std::int64_t> label_indptr, Array<std::int32_t> label_indices,
           Array<float> label_data, Array<std::int32_t> first_child, Array<std::int32_t> n_children,
           Array<std::int32_t> begin, Array<std::int32_t> end, Array<std::int32_t> order,
           std::int64_t n_features, const SolverOptions& solver, bool scale_cost,
           unsigned n_threads, const nb::object& progress) {
            const CsrView X = csr_view(indptr, indices, data, n_features);
            const CsrView positives = csr_view(label_indptr, label_indices, label_data, X.n_rows);
            const LabelTreeView tree{static_cast<std::int64_t>(first_child.size()),
                                     first_child.data(),
                                     n_children.data(),
                                     begin.data(),
                                     end.data(),
                                     order.data()};
            const Context context = make_context(n_threads, progress);
            LabelTreeWeights weights;
            {
                const nb::gil_scoped_release release;
                weights = train_label_tree(context, X, positives, tree, {solver, scale_cost});
            }
            return to_python(std::move(weights));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
        "label_indptr"_a.noconvert(), "label_indices"_a.noconvert(), "label_data"_a.noconvert(),
        "first_child"_a.noconvert(), "n_children"_a.noconvert(), "begin"_a.noconvert(),
        "end"_a.noconvert(), "order"_a.noconvert(), nb::kw_only(), "n_features"_a, "solver"_a,
        "scale_cost"_a, "n_threads"_a, "progress"_a.none());
}
