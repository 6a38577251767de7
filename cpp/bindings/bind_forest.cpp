// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/csr_caster.hpp"
#include "bindings/options.hpp"
#include "bindings/run.hpp"
#include "core/forest/craftml.hpp"
#include "core/forest/fastxml.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// Returns the arrays of a forest in the order of the fields of defrag._native.Forest.
auto to_python(Forest&& forest) {
    return std::tuple(to_numpy(std::move(forest.tree_ptr)), to_numpy(std::move(forest.first_child)),
                      to_numpy(std::move(forest.n_children)), to_numpy(std::move(forest.entry_ptr)),
                      to_numpy(std::move(forest.features)), to_numpy(std::move(forest.slots)),
                      to_numpy(std::move(forest.children)), to_numpy(std::move(forest.weights)),
                      to_numpy(std::move(forest.bias)), to_numpy(std::move(forest.leaf_ptr)),
                      to_numpy(std::move(forest.labels)), to_numpy(std::move(forest.outputs)),
                      to_numpy(std::move(forest.values)));
}

/// Binds a kernel that trains trees on X and Y, with one weight per label and one key per tree.
template <class Options, class Train>
void bind_training(nb::module_& m, const char* name, Train train) {
    m.def(
        name,
        [train](const CsrView& X, const CsrView& Y, const Array<float>& label_weights,
                const Array<std::uint64_t>& keys, const Options& given, unsigned n_threads,
                const nb::object& progress) {
            require(Y.n_rows == X.n_rows, "Y must have one row per row of X");
            require(n_items(label_weights) == Y.n_cols, "there must be a weight for each label");
            Options options = given;
            options.growth.n_trees = n_items(keys);
            options.growth.keys = keys.data();
            return to_python(run(n_threads, progress, [&](const Context& context) {
                return train(context, X, Y, label_weights.data(), options);
            }));
        },
        "X"_a, "Y"_a, "label_weights"_a.noconvert(), "keys"_a.noconvert(), "options"_a,
        nb::kw_only(), "n_threads"_a, "progress"_a = nb::none());
}

void bind_craftml_options(nb::module_& m) {
    using Options = CraftmlOptions;
    bind_options<Options>(
        m, "CraftmlOptions",
        option("n_clusters", [](Options& o) -> auto& { return o.clusters.n_clusters; }),
        option("max_leaf_size", [](Options& o) -> auto& { return o.growth.max_leaf_size; }),
        option("leaf_labels", [](Options& o) -> auto& { return o.growth.leaf_labels; }),
        option("max_depth", [](Options& o) -> auto& { return o.growth.max_depth; }),
        option("label_buckets", [](Options& o) -> auto& { return o.clusters.n_buckets; }),
        option("max_rounds", [](Options& o) -> auto& { return o.clusters.max_rounds; }),
        option("sample", &Options::sample), option("n_buckets", &Options::n_buckets),
        option("n_kept", &Options::n_kept), option("kept_share", &Options::kept_share),
        option("kept_least", &Options::kept_least));
}

}  // namespace

void bind_forest(nb::module_& m) {
    using Options = FastxmlOptions;
    bind_options<Options>(
        m, "FastxmlOptions",
        option("max_leaf_size", [](Options& o) -> auto& { return o.growth.max_leaf_size; }),
        option("leaf_labels", [](Options& o) -> auto& { return o.growth.leaf_labels; }),
        option("normalized", [](Options& o) -> auto& { return o.sides.normalized; }),
        option("cost", &Options::cost),
        option("bias", [](Options& o) -> auto& { return o.solver.bias; }),
        option("max_rounds", [](Options& o) -> auto& { return o.solver.max_rounds; }),
        option("tolerance", [](Options& o) -> auto& { return o.solver.tolerance; }));
    bind_craftml_options(m);
    bind_training<CraftmlOptions>(m, "train_craftml", train_craftml);
    bind_training<Options>(m, "train_fastxml", train_fastxml);
}
