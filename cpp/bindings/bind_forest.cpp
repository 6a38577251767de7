// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>
#include <stdexcept>
#include <string>

#include "bindings/label_tree_arrays.hpp"
#include "core/craftml.hpp"
#include "core/fastxml.hpp"
#include "core/forest_search.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// The shape of a forest as Python passes it: tree_ptr, first_child, n_children.
using ShapeArrays = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int32_t>>;
/// Its weights: entry_ptr, features, slots, children, weights, bias; one of children and bias is
/// empty.
template <class Slot>
using RoutingArrays = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<Slot>,
                                 Array<std::uint8_t>, Array<float>, Array<float>>;
/// Its leaves: leaf_ptr, labels, outputs, values.
template <class Output>
using LeafArrays =
    std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<Output>, Array<float>>;
/// The hash of its features: a key per tree, how many buckets, how many of 65536 features are kept;
/// or nothing.
using HashArrays = std::optional<std::tuple<Array<std::uint64_t>, std::int64_t, std::uint32_t>>;
/// Its prototypes, by output: prototype_ptr, slots, values, norms, label_weights.
template <class Slot>
using PrototypeArrays =
    std::tuple<Array<std::int64_t>, Array<Slot>, Array<float>, Array<float>, Array<float>>;

void check_size(const char* name, std::size_t size, std::size_t wanted) {
    if (size != wanted) {
        throw std::invalid_argument(std::string(name) + " of a forest must have " +
                                    std::to_string(wanted) + " items, got " + std::to_string(size));
    }
}

template <class Slot, class Output>
ForestView<Slot, Output> forest_view(const ShapeArrays& shape, const RoutingArrays<Slot>& routing,
                                     const LeafArrays<Output>& leaves, const HashArrays& hash) {
    const auto& [tree_ptr, first_child, n_children] = shape;
    const auto& [entry_ptr, features, slots, children, weights, bias] = routing;
    const auto& [leaf_ptr, labels, outputs, values] = leaves;
    const std::size_t n_nodes = first_child.size();
    check_size("n_children", n_children.size(), n_nodes);
    check_size("leaf_ptr", leaf_ptr.size(), n_nodes + 1);
    check_size("entry_ptr", entry_ptr.size(), n_nodes + 1);
    check_size("children", children.size(), hash ? slots.size() : 0);
    check_size("bias", bias.size(), hash ? 0 : n_nodes);
    check_size("weights", weights.size(), slots.size());
    check_size("values", values.size(), outputs.size());
    ForestView<Slot, Output> view;
    view.n_trees = static_cast<std::int64_t>(tree_ptr.size()) - 1;
    view.n_features = static_cast<std::int64_t>(features.size());
    view.n_labels = static_cast<std::int64_t>(labels.size());
    view.tree_ptr = tree_ptr.data();
    view.first_child = first_child.data();
    view.n_children = n_children.data();
    view.entry_ptr = entry_ptr.data();
    view.features = features.data();
    view.slots = slots.data();
    view.children = children.data();
    view.weights = weights.data();
    view.bias = bias.data();
    view.leaf_ptr = leaf_ptr.data();
    view.labels = labels.data();
    view.outputs = outputs.data();
    view.values = values.data();
    if (hash) {
        const auto& [keys, n_buckets, n_kept] = *hash;
        check_size("hash_keys", keys.size() + 1, tree_ptr.size());
        view.hash_keys = keys.data();
        view.n_buckets = n_buckets;
        view.n_kept = n_kept;
    }
    return view;
}

template <class Slot>
PrototypesView<Slot> prototypes_view(const PrototypeArrays<Slot>& prototypes, std::size_t n_labels,
                                     double alpha, double gamma) {
    const auto& [prototype_ptr, slots, values, norms, label_weights] = prototypes;
    check_size("prototype_ptr", prototype_ptr.size(), n_labels + 1);
    check_size("norms", norms.size(), n_labels);
    check_size("label_weights", label_weights.size(), n_labels);
    check_size("prototypes", values.size(), slots.size());
    return {alpha,         gamma,        prototype_ptr.data(), slots.data(),
            values.data(), norms.data(), label_weights.data()};
}

nb::tuple to_python(Forest&& forest) {
    return nb::make_tuple(
        nb::make_tuple(to_numpy(std::move(forest.tree_ptr)),
                       to_numpy(std::move(forest.first_child)),
                       to_numpy(std::move(forest.n_children))),
        nb::make_tuple(to_numpy(std::move(forest.entry_ptr)), to_numpy(std::move(forest.features)),
                       to_numpy(std::move(forest.slots)), to_numpy(std::move(forest.children)),
                       to_numpy(std::move(forest.weights)), to_numpy(std::move(forest.bias))),
        nb::make_tuple(to_numpy(std::move(forest.leaf_ptr)), to_numpy(std::move(forest.labels)),
                       to_numpy(std::move(forest.outputs)), to_numpy(std::move(forest.values))));
}

/// Binds a kernel that trains trees on X and Y, with a weight per label and a key per tree.
template <class Options, class Train>
void bind_training(nb::module_& m, const char* name, Train train) {
    m.def(
        name,
        [train](const CsrArrays& X, const CsrArrays& Y, const Array<float>& label_weights,
                const Array<std::uint64_t>& keys, const Options& given, std::int64_t n_features,
                unsigned n_threads, const nb::object& progress) {
            const CsrView points = csr_view(X, n_features);
            const CsrView labels = csr_view(Y, static_cast<std::int64_t>(label_weights.size()));
            check_size("labels", std::get<0>(Y).size(), std::get<0>(X).size());
            Options options = given;
            options.growth.n_trees = static_cast<std::int64_t>(keys.size());
            options.growth.keys = keys.data();
            return to_python(run(n_threads, progress, [&](const Context& context) {
                return train(context, points, labels, label_weights.data(), options);
            }));
        },
        "X"_a.noconvert(), "Y"_a.noconvert(), "label_weights"_a.noconvert(), "keys"_a.noconvert(),
        nb::kw_only(), "options"_a, "n_features"_a, "n_threads"_a, "progress"_a.none());
}

template <class Slot, class Output>
void bind_search(nb::module_& m) {
    m.def(
        "forest_search",
        [](const ShapeArrays& shape, const RoutingArrays<Slot>& routing,
           const LeafArrays<Output>& leaves, const HashArrays& hash,
           const std::optional<PrototypeArrays<Slot>>& prototypes, const CsrArrays& X, double alpha,
           double gamma, std::int64_t n_features, std::int64_t k, unsigned n_threads,
           const nb::object& progress) {
            const ForestView<Slot, Output> view = forest_view(shape, routing, leaves, hash);
            PrototypesView<Slot> reranking;
            if (prototypes) {
                reranking = prototypes_view(*prototypes, std::get<1>(leaves).size(), alpha, gamma);
            }
            const CsrView rows = csr_view(X, n_features);
            return to_numpy(run(n_threads, progress, [&](const Context& context) {
                return forest_search(context, view, prototypes ? &reranking : nullptr, rows, k);
            }));
        },
        "shape"_a.noconvert(), "routing"_a.noconvert(), "leaves"_a.noconvert(), "hash"_a.none(),
        "prototypes"_a.noconvert().none(), "X"_a.noconvert(), nb::kw_only(), "alpha"_a, "gamma"_a,
        "n_features"_a, "k"_a, "n_threads"_a, "progress"_a.none());
}

/// The steps of a node alone, so that tests can compare them with slow ones.
void bind_node_steps(nb::module_& m) {
    m.def(
        "label_clusters",
        [](const CsrArrays& Y, std::int64_t n_labels, std::uint64_t key, std::int64_t n_clusters,
           std::int64_t n_buckets, std::int64_t max_rounds) {
            const CsrView labels = csr_view(Y, n_labels);
            LabelClusters clusters(labels, {n_clusters, n_buckets, max_rounds});
            Vector<std::int32_t> points(labels.n_rows);
            std::iota(points.begin(), points.end(), 0);
            Vector<std::int32_t> cluster;
            const std::int64_t n_found = clusters.find(points, key, cluster);
            return nb::make_tuple(n_found, to_numpy(std::move(cluster)));
        },
        "Y"_a.noconvert(), nb::kw_only(), "n_labels"_a, "key"_a, "n_clusters"_a, "n_buckets"_a,
        "max_rounds"_a);
    m.def(
        "label_sides",
        [](const CsrArrays& Y, const Array<float>& label_weights, std::uint64_t key,
           bool normalized) {
            const CsrView labels = csr_view(Y, static_cast<std::int64_t>(label_weights.size()));
            LabelSidesOptions options;
            options.normalized = normalized;
            LabelSides sides(labels, label_weights.data(), options);
            Vector<std::int32_t> points(labels.n_rows);
            std::iota(points.begin(), points.end(), 0);
            Vector<std::uint8_t> side;
            sides.find(points, key, side);
            return to_numpy(std::move(side));
        },
        "Y"_a.noconvert(), "label_weights"_a.noconvert(), nb::kw_only(), "key"_a, "normalized"_a);
    m.def(
        "sparse_logistic",
        [](const CsrArrays& X, const Array<std::uint8_t>& side, std::int64_t n_features,
           double positive_cost, double negative_cost, float bias, int max_rounds,
           double tolerance) {
            const CsrView rows = csr_view(X, n_features);
            check_size("side", side.size(), static_cast<std::size_t>(rows.n_rows));
            const SparseLogisticOptions options{positive_cost, negative_cost, bias,
                                                max_rounds,    max_rounds,    tolerance};
            Vector<std::int32_t> points(rows.n_rows);
            std::iota(points.begin(), points.end(), 0);
            SparseLogistic solver(n_features);
            Separator separator;
            solver.solve(rows, points.data(), rows.n_rows, side.data(), options, separator);
            return nb::make_tuple(to_numpy(std::move(separator.features)),
                                  to_numpy(std::move(separator.weights)), separator.bias,
                                  separator.converged);
        },
        "X"_a.noconvert(), "side"_a.noconvert(), nb::kw_only(), "n_features"_a, "positive_cost"_a,
        "negative_cost"_a, "bias"_a, "max_rounds"_a, "tolerance"_a);
}

template <class Options, class Value>
auto growth(Value GrowthOptions::* member) {
    return [member](Options& options, Value value) { options.growth.*member = value; };
}

void bind_craftml_options(nb::module_& m) {
    nb::class_<CraftmlOptions>(m, "CraftmlOptions")
        .def(nb::init<>())
        .def_prop_rw(
            "max_leaf_size", [](const CraftmlOptions& o) { return o.growth.max_leaf_size; },
            growth<CraftmlOptions>(&GrowthOptions::max_leaf_size))
        .def_prop_rw(
            "leaf_labels", [](const CraftmlOptions& o) { return o.growth.leaf_labels; },
            growth<CraftmlOptions>(&GrowthOptions::leaf_labels))
        .def_prop_rw(
            "max_depth", [](const CraftmlOptions& o) { return o.growth.max_depth; },
            growth<CraftmlOptions>(&GrowthOptions::max_depth))
        .def_prop_rw(
            "n_clusters", [](const CraftmlOptions& o) { return o.clusters.n_clusters; },
            [](CraftmlOptions& o, std::int64_t n) { o.clusters.n_clusters = n; })
        .def_prop_rw(
            "label_buckets", [](const CraftmlOptions& o) { return o.clusters.n_buckets; },
            [](CraftmlOptions& o, std::int64_t n) { o.clusters.n_buckets = n; })
        .def_prop_rw(
            "max_rounds", [](const CraftmlOptions& o) { return o.clusters.max_rounds; },
            [](CraftmlOptions& o, std::int64_t n) { o.clusters.max_rounds = n; })
        .def_rw("sample", &CraftmlOptions::sample)
        .def_rw("n_buckets", &CraftmlOptions::n_buckets)
        .def_rw("n_kept", &CraftmlOptions::n_kept)
        .def_rw("kept_share", &CraftmlOptions::kept_share)
        .def_rw("kept_least", &CraftmlOptions::kept_least);
}

}  // namespace

void bind_forest(nb::module_& m) {
    nb::class_<FastxmlOptions>(m, "FastxmlOptions")
        .def(nb::init<>())
        .def_prop_rw(
            "max_leaf_size", [](const FastxmlOptions& o) { return o.growth.max_leaf_size; },
            growth<FastxmlOptions>(&GrowthOptions::max_leaf_size))
        .def_prop_rw(
            "leaf_labels", [](const FastxmlOptions& o) { return o.growth.leaf_labels; },
            growth<FastxmlOptions>(&GrowthOptions::leaf_labels))
        .def_prop_rw(
            "normalized", [](const FastxmlOptions& o) { return o.sides.normalized; },
            [](FastxmlOptions& o, bool normalized) { o.sides.normalized = normalized; })
        .def_rw("cost", &FastxmlOptions::cost)
        .def_prop_rw(
            "bias", [](const FastxmlOptions& o) { return o.solver.bias; },
            [](FastxmlOptions& o, float bias) { o.solver.bias = bias; })
        .def_prop_rw(
            "max_rounds", [](const FastxmlOptions& o) { return o.solver.max_rounds; },
            [](FastxmlOptions& o, int rounds) { o.solver.max_rounds = rounds; })
        .def_prop_rw(
            "tolerance", [](const FastxmlOptions& o) { return o.solver.tolerance; },
            [](FastxmlOptions& o, double tolerance) { o.solver.tolerance = tolerance; });
    bind_craftml_options(m);
    bind_node_steps(m);
    bind_training<CraftmlOptions>(m, "train_craftml", train_craftml);
    bind_training<FastxmlOptions>(m, "train_fastxml", train_fastxml);
    bind_search<std::uint16_t, std::uint16_t>(m);
    bind_search<std::uint16_t, std::int32_t>(m);
    bind_search<std::int32_t, std::uint16_t>(m);
    bind_search<std::int32_t, std::int32_t>(m);
}
