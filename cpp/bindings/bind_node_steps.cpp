// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>

#include "bindings/arrays.hpp"
#include "bindings/csr_caster.hpp"
#include "core/forest/label_clusters.hpp"
#include "core/forest/label_sides.hpp"
#include "core/forest/sparse_logistic.hpp"

using namespace nanobind::literals;
using namespace defrag;

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
