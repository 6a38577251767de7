// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/representations.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_representations(nb::module_& m) {
    m.def(
        "column_statistics",
        [](const CsrArrays& matrix, std::int64_t n_cols,
           const std::optional<Array<float>>& row_lengths, unsigned n_threads) {
            const CsrView view = csr_view(matrix, n_cols);
            check_size(row_lengths, view.n_rows, "row_lengths must have one entry per row");
            ColumnStatistics statistics = run(n_threads, nb::none(), [&](const Context& context) {
                return column_statistics(context, view, pointer(row_lengths));
            });
            return nb::make_tuple(to_numpy(std::move(statistics.counts)),
                                  to_numpy(std::move(statistics.energy)));
        },
        "matrix"_a.noconvert(), nb::kw_only(), "n_cols"_a, "row_lengths"_a.noconvert().none(),
        "n_threads"_a);
    m.def(
        "row_norms",
        [](const CsrArrays& matrix, bool l1, unsigned n_threads) {
            const CsrView view = csr_view(matrix, kAnyWidth);
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return row_norms(context, view, l1 ? Norm::kL1 : Norm::kL2);
            }));
        },
        "matrix"_a.noconvert(), nb::kw_only(), "l1"_a, "n_threads"_a);
    m.def(
        "feature_rows",
        [](const CsrArrays& matrix, const Array<std::int32_t>& coordinate, std::int64_t n_coords,
           const Array<std::uint8_t>& wanted, const std::optional<Array<float>>& row_scale,
           unsigned n_threads) {
            const CsrView view = csr_view(matrix, static_cast<std::int64_t>(wanted.size()));
            require(static_cast<std::int64_t>(coordinate.size()) == view.n_rows,
                    "coordinate must have one entry per row");
            check_below(coordinate, n_coords, "a coordinate must be below n_coords");
            check_size(row_scale, view.n_rows, "row_scale must have one entry per row");
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return feature_rows(context, view, coordinate.data(), n_coords, wanted.data(),
                                    pointer(row_scale));
            }));
        },
        "matrix"_a.noconvert(), nb::kw_only(), "coordinate"_a.noconvert(), "n_coords"_a,
        "wanted"_a.noconvert(), "row_scale"_a.noconvert().none(), "n_threads"_a);
    m.def(
        "multiply",
        [](const CsrArrays& left, const CsrArrays& right, std::int64_t n_cols,
           std::int64_t max_entries, unsigned n_threads) {
            const CsrView right_view = csr_view(right, n_cols);
            const CsrView left_view = csr_view(left, right_view.n_rows);
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return multiply(context, left_view, right_view, max_entries);
            }));
        },
        "left"_a.noconvert(), "right"_a.noconvert(), nb::kw_only(), "n_cols"_a, "max_entries"_a,
        "n_threads"_a);
    m.def(
        "scale_rows",
        [](const CsrArrays& matrix, bool ideal, float threshold, unsigned n_threads) {
            const CsrView view = csr_view(matrix, kAnyWidth);
            const RowScale rule = ideal ? RowScale::kIdeal : RowScale::kUnit;
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return scale_rows(context, view, rule, threshold);
            }));
        },
        "matrix"_a.noconvert(), nb::kw_only(), "ideal"_a, "threshold"_a, "n_threads"_a);
    m.def(
        "fill_empty_rows",
        [](const CsrArrays& first, const CsrArrays& second, std::int64_t shift,
           unsigned n_threads) {
            const CsrView first_view = csr_view(first, kAnyWidth);
            const CsrView second_view = csr_view(second, kAnyWidth);
            require(first_view.n_rows == second_view.n_rows && shift >= 0,
                    "both matrices must have the same number of rows, and shift be >= 0");
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return fill_empty_rows(context, first_view, second_view, shift);
            }));
        },
        "first"_a.noconvert(), "second"_a.noconvert(), nb::kw_only(), "shift"_a, "n_threads"_a);
}
