// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"
#include "core/neighbours/dense.hpp"
#include "core/neighbours/nearest_rows.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

DenseView dense_view(const Matrix<float>& matrix) {
    return {static_cast<std::int64_t>(matrix.shape(0)), static_cast<std::int64_t>(matrix.shape(1)),
            matrix.data()};
}

void bind_sparse_dense(nb::module_& m) {
    m.def(
        "sparse_dense",
        [](const CsrView& A, const Matrix<float>& B, Instructions instructions, unsigned n_threads,
           const nb::object& progress) {
            const DenseView right = dense_view(B);
            require(A.n_cols == right.n_rows, "A must have as many columns as B has rows");
            Numpy<float, 2> product = empty_matrix<float>(A.n_rows, right.n_cols);
            run(n_threads, progress, sparse_dense, A, right, product.data(), instructions);
            return product;
        },
        "A"_a, "B"_a, nb::kw_only(), "instructions"_a = Instructions::kBest, "n_threads"_a,
        "progress"_a = nb::none());
    m.def(
        "pair_products",
        [](const CsrView& pattern, const Matrix<float>& left, const Matrix<float>& right,
           Instructions instructions, unsigned n_threads, const nb::object& progress) {
            const DenseView a = dense_view(left);
            const DenseView b = dense_view(right);
            require(
                a.n_rows == pattern.n_rows && b.n_rows == pattern.n_cols && a.n_cols == b.n_cols,
                "pairs must be of rows of two matrices with equal columns");
            Vector<float> products(pattern.nnz());
            run(n_threads, progress, pair_products, pattern, a, b, products.data(), instructions);
            return to_numpy(std::move(products));
        },
        "pattern"_a, "left"_a, "right"_a, nb::kw_only(), "instructions"_a = Instructions::kBest,
        "n_threads"_a, "progress"_a = nb::none());
}

using PanelArray = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void check_panels(const PanelArray& lines, const RowPanels& rows) {
    require(rows.n_rows >= 0 && static_cast<std::int64_t>(lines.shape(0)) == rows.n_panels() &&
                static_cast<std::int64_t>(lines.shape(1)) == rows.n_cols &&
                lines.shape(2) == kPanelRows,
            "panels must have sixteen rows each and the columns of the queries");
}

void bind_panels(nb::module_& m) {
    m.def(
        "pack_panels",
        [](const Matrix<float>& rows) {
            const DenseView view = dense_view(rows);
            const RowPanels panels{view.n_rows, view.n_cols, nullptr, nullptr};
            Vector<float> lines(checked_product(panels.n_panels() * kPanelRows, view.n_cols));
            {
                const ReleasedGil released;
                pack_panels(view, lines.data());
            }
            return to_numpy(std::move(lines), panels.n_panels(), view.n_cols, kPanelRows);
        },
        "rows"_a);
}

void bind_nearest_rows(nb::module_& m) {
    bind_panels(m);
    m.def(
        "nearest_rows",
        [](const Matrix<float>& queries, const PanelArray& lines, std::int64_t n_rows,
           const std::optional<Array<float>>& bias, std::int64_t n_best, Instructions instructions,
           unsigned n_threads, const nb::object& progress) {
            const DenseView view = dense_view(queries);
            const RowPanels rows{n_rows, view.n_cols, lines.data(), pointer(bias)};
            check_panels(lines, rows);
            check_size(bias, n_rows, "there must be a bias for each row");
            require(n_best > 0, "n_best must be >= 1");
            Numpy<std::int32_t, 2> ids = empty_matrix<std::int32_t>(view.n_rows, n_best);
            Numpy<float, 2> scores = empty_matrix<float>(view.n_rows, n_best);
            run(n_threads, progress, nearest_rows, view, rows, n_best, ids.data(), scores.data(),
                instructions);
            return TopArrays(std::move(ids), std::move(scores));
        },
        "queries"_a, "lines"_a.noconvert(), nb::kw_only(), "n_rows"_a, "bias"_a.noconvert().none(),
        "n_best"_a, "instructions"_a = Instructions::kBest, "n_threads"_a,
        "progress"_a = nb::none());
    m.def(
        "rank_votes",
        [](const Matrix<std::int32_t>& neighbours, const Matrix<float>& weights, const CsrView& Y,
           std::int64_t k, unsigned n_threads, const nb::object& progress) {
            require(
                neighbours.shape(0) == weights.shape(0) && neighbours.shape(1) == weights.shape(1),
                "neighbours and weights must have the same shape");
            const std::int32_t* ids = neighbours.data();
            require(std::all_of(ids, ids + neighbours.size(),
                                [&](std::int32_t id) { return id < Y.n_rows; }),
                    "neighbours must be rows of Y");
            require(k >= 0, "k must be >= 0");
            const auto n_rows = static_cast<std::int64_t>(neighbours.shape(0));
            Numpy<std::int32_t, 2> labels = empty_matrix<std::int32_t>(n_rows, k);
            Numpy<float, 2> scores = empty_matrix<float>(n_rows, k);
            run(n_threads, progress, rank_votes, n_rows,
                static_cast<std::int64_t>(neighbours.shape(1)), ids, weights.data(), Y, k,
                labels.data(), scores.data());
            return TopArrays(std::move(labels), std::move(scores));
        },
        "neighbours"_a, "weights"_a, "Y"_a, nb::kw_only(), "k"_a, "n_threads"_a,
        "progress"_a = nb::none());
}

}  // namespace

void bind_neighbours(nb::module_& m) {
    bind_sparse_dense(m);
    bind_nearest_rows(m);
}
