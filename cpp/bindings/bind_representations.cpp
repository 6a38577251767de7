// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/representations.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

void bind_statistics(nb::module_& m) {
    nb::enum_<Norm>(m, "Norm").value("l1", Norm::kL1).value("l2", Norm::kL2);
    m.def(
        "column_statistics",
        [](const CsrView& X, const std::optional<Array<float>>& row_lengths, unsigned n_threads) {
            check_size(row_lengths, X.n_rows, "row_lengths must have one entry per row");
            ColumnStatistics statistics = run(n_threads, nb::none(), [&](const Context& context) {
                return column_statistics(context, X, pointer(row_lengths));
            });
            return std::pair(to_numpy(std::move(statistics.counts)),
                             to_numpy(std::move(statistics.energy)));
        },
        "X"_a, nb::kw_only(), "row_lengths"_a.noconvert() = nb::none(), "n_threads"_a);
    m.def(
        "row_norms",
        [](const CsrView& X, Norm norm, unsigned n_threads) {
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return row_norms(context, X, norm);
            }));
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
            return run(n_threads, nb::none(), [&](const Context& context) {
                return scale_rows(context, X, scale, threshold);
            });
        },
        "X"_a, nb::kw_only(), "scale"_a = RowScale::kUnit, "threshold"_a = 0.0F, "n_threads"_a);
    m.def(
        "unit_rows",
        [](const CsrView& X, unsigned n_threads) {
            return KernelRows{run(n_threads, nb::none(), [&](const Context& context) {
                return scale_rows(context, X, RowScale::kUnit, 0.0F);
            })};
        },
        "X"_a, nb::kw_only(), "n_threads"_a);
}

}  // namespace

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
            return run(n_threads, nb::none(), [&](const Context& context) {
                return feature_rows(context, X, coordinate.data(), n_coords, wanted.data(),
                                    pointer(row_scale));
            });
        },
        "X"_a, nb::kw_only(), "coordinate"_a.noconvert(), "n_coords"_a, "wanted"_a.noconvert(),
        "row_scale"_a.noconvert() = nb::none(), "n_threads"_a);
    m.def(
        "multiply",
        [](const CsrView& A, const CsrView& B, std::int64_t max_entries, unsigned n_threads) {
            require(A.n_cols == B.n_rows, "A must have as many columns as B has rows");
            return run(n_threads, nb::none(), [&](const Context& context) {
                return multiply(context, A, B, max_entries);
            });
        },
        "A"_a, "B"_a, nb::kw_only(), "max_entries"_a = 0, "n_threads"_a);
    m.def(
        "fill_empty_rows",
        [](const CsrView& first, const CsrView& second, std::int64_t shift, unsigned n_threads) {
            require(first.n_rows == second.n_rows && shift >= 0,
                    "both matrices must have the same number of rows, and shift be >= 0");
            return run(n_threads, nb::none(), [&](const Context& context) {
                return fill_empty_rows(context, first, second, shift);
            });
        },
        "first"_a, "second"_a, nb::kw_only(), "shift"_a, "n_threads"_a);
}
