// SPDX-License-Identifier: BSD-3-Clause
#include <stdexcept>
#include <string>

#include "bindings/attributes.hpp"
#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"
#include "core/forest/search.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

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
        ForestView<Slot, Output> view;
        view.n_trees = n_items(tree_ptr) - 1;
        view.n_features = n_items(features);
        view.n_labels = n_items(labels);
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
        if (is_hashed) {
            check_length("hash_keys", n_items(hash_keys), view.n_trees);
            view.hash_keys = hash_keys.data();
            view.n_buckets = n_buckets;
            view.n_kept = n_kept;
        }
        return view;
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

}  // namespace

void bind_forest_search(nb::module_& m) {
    bind_search<std::uint16_t, std::uint16_t>(m);
    bind_search<std::uint16_t, std::int32_t>(m);
    bind_search<std::int32_t, std::uint16_t>(m);
    bind_search<std::int32_t, std::int32_t>(m);
}
