// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/agglomeration.hpp"
#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"
#include "core/agglomeration/kmeans.hpp"
#include "core/agglomeration/matches.hpp"
#include "core/agglomeration/representations.hpp"
#include "core/agglomeration/tight.hpp"
#include "core/agglomeration/tree.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

void bind_statistics(nb::module_& m) {
    nb::enum_<Norm>(m, "Norm").value("l1", Norm::kL1).value("l2", Norm::kL2);
    m.def(
        "column_statistics",
        [](const CsrView& X, unsigned n_threads) {
            ColumnStatistics statistics = run(n_threads, nb::none(), column_statistics, X);
            return std::pair(to_numpy(std::move(statistics.counts)),
                             to_numpy(std::move(statistics.energy)));
        },
        "X"_a, nb::kw_only(), "n_threads"_a);
    m.def(
        "row_norms",
        [](const CsrView& X, Norm norm, unsigned n_threads) {
            return to_numpy(run(n_threads, nb::none(), row_norms, X, norm));
        },
        "X"_a, nb::kw_only(), "norm"_a, "n_threads"_a);
}

void bind_scaling(nb::module_& m) {
    nb::enum_<RowScale>(m, "RowScale")
        .value("unit", RowScale::kUnit)
        .value("ideal", RowScale::kIdeal);
    m.def(
        "scale_rows",
        [](const CsrView& X, RowScale scale, float threshold, unsigned n_threads) {
            return run(n_threads, nb::none(), scale_rows, X, scale, threshold);
        },
        "X"_a, nb::kw_only(), "scale"_a = RowScale::kUnit, "threshold"_a = 0.0F, "n_threads"_a);
    m.def(
        "unit_rows",
        [](const CsrView& X, unsigned n_threads) {
            return KernelRows{run(n_threads, nb::none(), scale_rows, X, RowScale::kUnit, 0.0F)};
        },
        "X"_a, nb::kw_only(), "n_threads"_a);
}

void bind_representations(nb::module_& m) {
    bind_statistics(m);
    bind_scaling(m);
    m.def(
        "feature_rows",
        [](const CsrView& X, const Array<std::int32_t>& coordinate, std::int64_t n_coords,
           const Array<bool>& wanted, const std::optional<Array<float>>& row_scale,
           unsigned n_threads) {
            require(n_items(coordinate) == X.n_rows, "coordinate must have one entry per row");
            require(n_items(wanted) == X.n_cols, "wanted must have one entry per column");
            check_below(coordinate, n_coords, "a coordinate must be below n_coords");
            check_size(row_scale, X.n_rows, "row_scale must have one entry per row");
            return run(n_threads, nb::none(), feature_rows, X, coordinate.data(), n_coords,
                       wanted.data(), pointer(row_scale));
        },
        "X"_a, nb::kw_only(), "coordinate"_a.noconvert(), "n_coords"_a, "wanted"_a.noconvert(),
        "row_scale"_a.noconvert() = nb::none(), "n_threads"_a);
    m.def(
        "multiply",
        [](const CsrView& A, const CsrView& B, std::int64_t max_entries, unsigned n_threads) {
            require(A.n_cols == B.n_rows, "A must have as many columns as B has rows");
            return run(n_threads, nb::none(), multiply, A, B, max_entries);
        },
        "A"_a, "B"_a, nb::kw_only(), "max_entries"_a = 0, "n_threads"_a);
    m.def(
        "fill_empty_rows",
        [](const CsrView& first, const CsrView& second, std::int64_t shift, unsigned n_threads) {
            require(first.n_rows == second.n_rows && shift >= 0,
                    "both matrices must have the same number of rows, and shift be >= 0");
            return run(n_threads, nb::none(), fill_empty_rows, first, second, shift);
        },
        "first"_a, "second"_a, nb::kw_only(), "shift"_a, "n_threads"_a);
}

void bind_tree(nb::module_& m) {
    nb::enum_<SplitRule>(m, "SplitRule")
        .value("kmeans", SplitRule::kKMeans)
        .value("ndcg", SplitRule::kNdcg);
    m.def(
        "min_hash_order",
        [](const CsrView& items, std::uint64_t seed, unsigned n_threads) {
            return to_numpy(run(n_threads, nb::none(), min_hash_order, items, seed));
        },
        "items"_a, nb::kw_only(), "seed"_a, "n_threads"_a);
    m.def(
        "split_items",
        [](const CsrView& items, const Array<std::int32_t>& first_child,
           const Array<std::int64_t>& begin, const Array<std::int64_t>& end, SplitRule rule,
           double tolerance, int max_iterations, std::uint64_t seed,
           const std::optional<Array<std::int64_t>>& starts, unsigned n_threads,
           const nb::object& progress) {
            const std::size_t n_nodes = first_child.size();
            require(begin.size() == n_nodes && end.size() == n_nodes &&
                        (!starts || starts->size() == 2 * n_nodes),
                    "the arrays of a tree must have one entry per node, starts two");
            const TreeShape shape{n_items(first_child), first_child.data(), begin.data(),
                                  end.data()};
            const SplitOptions options{rule, tolerance, max_iterations, seed, pointer(starts)};
            TreeResult result = run(n_threads, progress, split_items, items, shape, options);
            return std::tuple(to_numpy(std::move(result.order)),
                              to_numpy(std::move(result.objective)),
                              to_numpy(std::move(result.n_rounds)));
        },
        "items"_a, nb::kw_only(), "first_child"_a.noconvert(), "begin"_a.noconvert(),
        "end"_a.noconvert(), "rule"_a, "tolerance"_a, "max_iterations"_a, "seed"_a,
        "starts"_a.noconvert().none(), "n_threads"_a, "progress"_a = nb::none());
}

void bind_agglomeration_kernels(nb::module_& m) {
    nb::enum_<Pooling>(m, "Pooling")
        .value("sum", Pooling::kSum)
        .value("mean_nonzero", Pooling::kMeanNonzero);
    m.def(
        "agglomerate",
        [](const CsrView& X, const Array<std::int32_t>& groups, std::int64_t n_groups,
           Pooling pooling, const std::optional<Array<float>>& scale, unsigned n_threads,
           const nb::object& progress) {
            require(n_items(groups) == X.n_cols, "groups must have one entry per feature");
            require(n_groups >= 0, "n_groups must be >= 0");
            check_size(scale, n_groups, "scale must have one entry per group");
            return run(n_threads, progress, agglomerate, X, groups.data(), n_groups, pooling,
                       pointer(scale));
        },
        "X"_a, "groups"_a.noconvert(), nb::kw_only(), "n_groups"_a, "pooling"_a = Pooling::kSum,
        "scale"_a.noconvert() = nb::none(), "n_threads"_a, "progress"_a = nb::none());
}

void bind_group_statistics(nb::module_& m) {
    m.def(
        "group_statistics",
        [](const CsrView& X, const Array<std::int32_t>& groups, std::int64_t n_groups,
           Pooling pooling, unsigned n_threads) {
            require(n_items(groups) == X.n_cols, "groups must have one entry per feature");
            check_below(groups, n_groups, "a group must be below n_groups");
            ColumnStatistics statistics =
                run(n_threads, nb::none(), group_statistics, X, groups.data(), n_groups, pooling);
            return std::pair(to_numpy(std::move(statistics.counts)),
                             to_numpy(std::move(statistics.energy)));
        },
        "X"_a, "groups"_a.noconvert(), nb::kw_only(), "n_groups"_a, "pooling"_a = Pooling::kSum,
        "n_threads"_a);
}

void bind_tight(nb::module_& m) {
    m.def(
        "tight_leaders",
        [](const CsrView& X, double min_cosine, std::uint64_t seed, unsigned n_threads,
           const nb::object& progress) {
            ColumnStatistics statistics = run(n_threads, nb::none(), column_statistics, X);
            auto leaders = run(n_threads, progress, tight_leaders, X, statistics, min_cosine, seed);
            return std::pair(to_numpy(std::move(leaders)), to_numpy(std::move(statistics.energy)));
        },
        "X"_a, nb::kw_only(), "min_cosine"_a, "seed"_a, "n_threads"_a, "progress"_a = nb::none());
}

void bind_kmeans(nb::module_& m) {
    nb::class_<KMeansResult>(m, "KMeansResult")
        .def_prop_ro("cluster", array_of(&KMeansResult::cluster))
        .def_prop_ro("second", array_of(&KMeansResult::second))
        .def_ro("objective", &KMeansResult::objective)
        .def_ro("n_rounds", &KMeansResult::n_rounds);
    const KMeansOptions defaults;
    m.def(
        "spherical_kmeans",
        [](const CsrView& items, std::int64_t n_clusters, double tolerance, std::int64_t max_rounds,
           std::uint64_t seed, std::uint64_t item, std::int64_t panel_bytes,
           Instructions instructions, unsigned n_threads, const nb::object& progress) {
            const KMeansOptions options{n_clusters, tolerance,   max_rounds,  seed,
                                        item,       panel_bytes, instructions};
            return run(n_threads, progress, spherical_kmeans, items, options);
        },
        "items"_a, nb::kw_only(), "n_clusters"_a, "tolerance"_a = defaults.tolerance,
        "max_rounds"_a = defaults.max_rounds, "seed"_a = defaults.seed, "item"_a = defaults.item,
        "panel_bytes"_a = defaults.panel_bytes, "instructions"_a = defaults.instructions,
        "n_threads"_a = 1, "progress"_a = nb::none());
}

void bind_matches(nb::module_& m) {
    nb::class_<Matches>(m, "Matches")
        .def_prop_ro("indptr", array_of(&Matches::indptr))
        .def_prop_ro("columns", array_of(&Matches::columns))
        .def_prop_ro("scores", array_of(&Matches::scores))
        .def_prop_ro("own", array_of(&Matches::own));
    m.def(
        "best_matches",
        [](const CsrView& left, const CsrView& right, std::int64_t n_best,
           const std::optional<Array<std::int32_t>>& own, std::int64_t dense_share,
           std::int64_t dense_bytes, unsigned n_threads, const nb::object& progress) {
            require(left.n_cols == right.n_rows,
                    "left must have as many columns as right has rows");
            check_size(own, left.n_rows, "own must have one entry per row");
            require(
                !own || std::all_of(own->data(), own->data() + own->size(),
                                    [&](std::int32_t id) { return id >= 0 && id < right.n_cols; }),
                "own must name a column");
            require(n_best >= 1 && dense_share >= 0 && dense_bytes >= 0,
                    "n_best must be >= 1, dense_share and dense_bytes >= 0");
            return run(n_threads, progress, best_matches, left, right, n_best, pointer(own),
                       dense_share, dense_bytes);
        },
        "left"_a, "right"_a, nb::kw_only(), "n_best"_a, "own"_a.noconvert() = nb::none(),
        "dense_share"_a = kDenseShare, "dense_bytes"_a = kDenseBytes, "n_threads"_a,
        "progress"_a = nb::none());
}

}  // namespace

void bind_agglomeration(nb::module_& m) {
    bind_representations(m);
    bind_tree(m);
    bind_agglomeration_kernels(m);
    bind_group_statistics(m);
    bind_tight(m);
    bind_kmeans(m);
    bind_matches(m);
}
