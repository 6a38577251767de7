// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>
#include <stdexcept>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/attributes.hpp"
#include "bindings/csr_caster.hpp"
#include "bindings/options.hpp"
#include "bindings/run.hpp"
#include "core/forest/craftml.hpp"
#include "core/forest/fastxml.hpp"
#include "core/forest/search.hpp"
#include "core/forest/sparse_logistic.hpp"

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
        nb::kw_only(), "n_threads"_a = 1, "progress"_a = nb::none());
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

void bind_forest_kernels(nb::module_& m) {
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

void check_length(const char* name, std::int64_t size, std::int64_t wanted) {
    if (size == wanted) return;
    throw std::invalid_argument(std::string(name) + " of a forest must have " +
                                std::to_string(wanted) + " items, got " + std::to_string(size));
}

/// The arrays of a forest. Slots and outputs each have one of two types.
template <class Slot, class Output>
struct ForestArrays : Attributes {
    static constexpr auto kType = nb::detail::const_name("defrag._native.Forest");
    static constexpr const char* kNames[] = {
        "tree_ptr", "first_child", "n_children", "entry_ptr", "features", "slots", "children",
        "weights",  "bias",        "leaf_ptr",   "labels",    "outputs",  "values"};
    std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int32_t>, Array<std::int64_t>,
               Array<std::int32_t>, Array<Slot>, Array<std::uint8_t>, Array<float>, Array<float>,
               Array<std::int64_t>, Array<std::int32_t>, Array<Output>, Array<float>>
        arrays;
    bool is_hashed = false;
    Array<std::uint64_t> hash_keys;
    std::int64_t n_buckets = 0;
    std::uint32_t n_kept = 0;

    bool load_more(nb::handle source, nb::detail::cleanup_list* cleanup) {
        const nb::object hash = source.attr("hash");
        is_hashed = !hash.is_none();
        if (!is_hashed) return true;
        n_buckets = nb::cast<std::int64_t>(hash.attr("n_buckets"));
        n_kept = nb::cast<std::uint32_t>(hash.attr("n_kept"));
        return load_array(hash.attr("keys"), 0, cleanup, hash_keys);
    }

    ForestView<Slot, Output> view() const {
        const auto& [tree_ptr, first_child, n_children, entry_ptr, features, slots, children,
                     weights, bias, leaf_ptr, labels, outputs, values] = arrays;
        const std::int64_t n_nodes = n_items(first_child);
        check_length("n_children", n_items(n_children), n_nodes);
        check_length("leaf_ptr", n_items(leaf_ptr), n_nodes + 1);
        check_length("entry_ptr", n_items(entry_ptr), n_nodes + 1);
        check_length("children", n_items(children), is_hashed ? n_items(slots) : 0);
        check_length("bias", n_items(bias), is_hashed ? 0 : n_nodes);
        check_length("weights", n_items(weights), n_items(slots));
        check_length("values", n_items(values), n_items(outputs));
        const std::int64_t n_trees = n_items(tree_ptr) - 1;
        if (is_hashed) check_length("hash_keys", n_items(hash_keys), n_trees);
        return {n_trees,
                n_items(features),
                n_items(labels),
                tree_ptr.data(),
                first_child.data(),
                n_children.data(),
                entry_ptr.data(),
                features.data(),
                slots.data(),
                children.data(),
                weights.data(),
                bias.data(),
                leaf_ptr.data(),
                labels.data(),
                outputs.data(),
                values.data(),
                is_hashed ? hash_keys.data() : nullptr,
                n_buckets,
                n_kept};
    }
};

/// The optional prototypes of a forest.
template <class Slot>
struct PrototypeArrays : Attributes {
    static constexpr auto kType = nb::detail::const_name("defrag._native.Prototypes");
    static constexpr const char* kNames[] = {"prototype_ptr", "slots", "values", "norms",
                                             "label_weights"};
    std::tuple<Array<std::int64_t>, Array<Slot>, Array<float>, Array<float>, Array<float>> arrays;

    PrototypesView<Slot> view(std::int64_t n_labels, double alpha, double gamma) const {
        const auto& [prototype_ptr, slots, values, norms, label_weights] = arrays;
        check_length("prototype_ptr", n_items(prototype_ptr), n_labels + 1);
        check_length("norms", n_items(norms), n_labels);
        check_length("label_weights", n_items(label_weights), n_labels);
        check_length("prototypes", n_items(values), n_items(slots));
        return {alpha,         gamma,        prototype_ptr.data(), slots.data(),
                values.data(), norms.data(), label_weights.data()};
    }
};

template <class Slot, class Output>
void bind_search(nb::module_& m) {
    m.def(
        "forest_search",
        [](const ForestArrays<Slot, Output>& forest, const CsrView& X, std::int64_t k,
           const std::optional<PrototypeArrays<Slot>>& prototypes, double alpha, double gamma,
           unsigned n_threads, const nb::object& progress) {
            const ForestView<Slot, Output> view = forest.view();
            PrototypesView<Slot> reranking;
            if (prototypes) reranking = prototypes->view(view.n_labels, alpha, gamma);
            return to_numpy(run(n_threads, progress,
                                [&](const Context& context) {
                                    return forest_search(context, view,
                                                         prototypes ? &reranking : nullptr, X, k);
                                }),
                            X.n_rows);
        },
        "forest"_a, "X"_a, nb::kw_only(), "k"_a, "prototypes"_a = nb::none(),
        "alpha"_a = PrototypesView<Slot>().alpha, "gamma"_a = PrototypesView<Slot>().gamma,
        "n_threads"_a = 1, "progress"_a = nb::none());
}

void bind_forest_search(nb::module_& m) {
    bind_search<std::uint16_t, std::uint16_t>(m);
    bind_search<std::uint16_t, std::int32_t>(m);
    bind_search<std::int32_t, std::uint16_t>(m);
    bind_search<std::int32_t, std::int32_t>(m);
}

// Binds the individual steps of splitting a forest node, so that tests can compare them with slow
// reference implementations.
void bind_node_steps(nb::module_& m) {
    m.def(
        "label_clusters",
        [](const CsrView& Y, std::uint64_t key, std::int64_t n_clusters, std::int64_t n_buckets,
           std::int64_t max_rounds) {
            LabelClusters clusters(Y, {n_clusters, n_buckets, max_rounds});
            Vector<std::int32_t> points(Y.n_rows);
            std::iota(points.begin(), points.end(), 0);
            Vector<std::int32_t> cluster;
            const std::int64_t n_found = clusters.find(points, key, cluster);
            return std::pair(n_found, to_numpy(std::move(cluster)));
        },
        "Y"_a, nb::kw_only(), "key"_a, "n_clusters"_a, "n_buckets"_a, "max_rounds"_a);
    m.def(
        "label_sides",
        [](const CsrView& Y, const Array<float>& label_weights, std::uint64_t key,
           bool normalized) {
            require(n_items(label_weights) == Y.n_cols, "there must be a weight for each label");
            LabelSidesOptions options;
            options.normalized = normalized;
            LabelSides sides(Y, label_weights.data(), options);
            Vector<std::int32_t> points(Y.n_rows);
            std::iota(points.begin(), points.end(), 0);
            Vector<std::uint8_t> side;
            sides.find(points, key, side);
            return to_numpy(std::move(side));
        },
        "Y"_a, "label_weights"_a.noconvert(), nb::kw_only(), "key"_a, "normalized"_a);
    m.def(
        "sparse_logistic",
        [](const CsrView& X, const Array<std::uint8_t>& side, double positive_cost,
           double negative_cost, float bias, int max_rounds, double tolerance) {
            require(n_items(side) == X.n_rows, "side must have one entry per row");
            const SparseLogisticOptions options{positive_cost, negative_cost, bias,
                                                max_rounds,    max_rounds,    tolerance};
            Vector<std::int32_t> points(X.n_rows);
            std::iota(points.begin(), points.end(), 0);
            SparseLogistic solver(X.n_cols);
            Separator separator;
            solver.solve(X, points.data(), X.n_rows, side.data(), options, separator);
            return std::tuple(to_numpy(std::move(separator.features)),
                              to_numpy(std::move(separator.weights)), separator.bias,
                              separator.converged);
        },
        "X"_a, "side"_a.noconvert(), nb::kw_only(), "positive_cost"_a, "negative_cost"_a, "bias"_a,
        "max_rounds"_a, "tolerance"_a);
}

}  // namespace

void bind_forest(nb::module_& m) {
    bind_forest_kernels(m);
    bind_forest_search(m);
    bind_node_steps(m);
}
