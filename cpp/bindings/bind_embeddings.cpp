// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "bindings/solver_options.hpp"
#include "core/nearest_rows.hpp"
#include "core/sparse_dense.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::int64_t extent(std::size_t size) { return static_cast<std::int64_t>(size); }

DenseView dense_view(const Matrix<float>& matrix) {
    return {extent(matrix.shape(0)), extent(matrix.shape(1)), matrix.data()};
}

/// A matrix from outside whose pointers rise and whose indices are below n_cols.
CsrView checked_csr(const CsrArrays& arrays, std::int64_t n_cols) {
    const auto& [indptr, indices, data] = arrays;
    require(indptr.size() > 0, "a sparse matrix must have row pointers");
    const CsrView view = csr_view(arrays, n_cols);
    require(data.size() == indices.size(), "a sparse matrix must have as many values as indices");
    require(indptr.data()[0] == 0 && indptr.data()[view.n_rows] == extent(indices.size()),
            "row pointers must rise from zero to the number of entries");
    std::int64_t fall = 0;
    for (std::int64_t row = 0; row < view.n_rows; ++row) fall |= view.end(row) - view.begin(row);
    require(fall >= 0, "row pointers must rise from zero to the number of entries");
    std::uint32_t highest = 0;  // a negative index is a very high one
    for (std::size_t e = 0; e < indices.size(); ++e) {
        highest = std::max(highest, static_cast<std::uint32_t>(indices.data()[e]));
    }
    require(indices.size() == 0 || static_cast<std::int64_t>(highest) < n_cols,
            "indices must be those of columns");
    return view;
}

}  // namespace

void bind_embeddings(nb::module_& m) {
    m.def(
        "sparse_dense",
        [](const CsrArrays& A, const Matrix<float>& B, const Output<float>& out,
           const std::string& instructions, unsigned n_threads, const nb::object& progress) {
            const DenseView right = dense_view(B);
            const CsrView left = checked_csr(A, right.n_rows);
            require(extent(out.shape(0)) == left.n_rows && extent(out.shape(1)) == right.n_cols,
                    "the product must have the rows of A and the columns of B");
            run(n_threads, progress, [&](const Context& context) {
                sparse_dense(context, left, right, out.data(), parse_instructions(instructions));
            });
        },
        "A"_a.noconvert(), "B"_a.noconvert(), "out"_a.noconvert(), nb::kw_only(), "instructions"_a,
        "n_threads"_a, "progress"_a.none());
    m.def(
        "pair_products",
        [](const CsrArrays& pattern, const Matrix<float>& left, const Matrix<float>& right,
           nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu> out,
           const std::string& instructions, unsigned n_threads, const nb::object& progress) {
            const DenseView a = dense_view(left);
            const DenseView b = dense_view(right);
            const CsrView pairs = checked_csr(pattern, b.n_rows);
            require(a.n_rows == pairs.n_rows && a.n_cols == b.n_cols &&
                        extent(out.size()) == pairs.nnz(),
                    "pairs must be of rows of two matrices with equal columns");
            run(n_threads, progress, [&](const Context& context) {
                pair_products(context, pairs, a, b, out.data(), parse_instructions(instructions));
            });
        },
        "pattern"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(), "out"_a.noconvert(),
        nb::kw_only(), "instructions"_a, "n_threads"_a, "progress"_a.none());
    m.def(
        "pack_panels",
        [](const Matrix<float>& rows,
           nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu> panels) {
            const DenseView view = dense_view(rows);
            require(extent(panels.shape(0)) == (view.n_rows + kPanelRows - 1) / kPanelRows &&
                        extent(panels.shape(1)) == view.n_cols &&
                        extent(panels.shape(2)) == kPanelRows,
                    "panels must have sixteen rows each and the columns of the matrix");
            const ReleasedGil released;
            pack_panels(view, panels.data());
        },
        "rows"_a.noconvert(), "panels"_a.noconvert());
    m.def(
        "nearest_rows",
        [](const Matrix<float>& queries,
           nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu> panels,
           std::int64_t n_rows, std::optional<Array<float>> bias, const Output<std::int32_t>& ids,
           const Output<float>& scores, const std::string& instructions, unsigned n_threads,
           const nb::object& progress) {
            const DenseView view = dense_view(queries);
            const RowPanels rows{n_rows, view.n_cols, panels.data(), pointer(bias)};
            require(n_rows >= 0 && extent(panels.shape(0)) == rows.n_panels() &&
                        extent(panels.shape(1)) == view.n_cols &&
                        extent(panels.shape(2)) == kPanelRows,
                    "panels must have sixteen rows each and the columns of the queries");
            require(!bias || extent(bias->size()) == n_rows, "there must be a bias for each row");
            const std::int64_t n_best = extent(ids.shape(1));
            require(n_best > 0 && extent(ids.shape(0)) == view.n_rows &&
                        ids.shape(0) == scores.shape(0) && ids.shape(1) == scores.shape(1),
                    "results must have a row for each query");
            run(n_threads, progress, [&](const Context& context) {
                nearest_rows(context, view, rows, n_best, ids.data(), scores.data(),
                             parse_instructions(instructions));
            });
        },
        "queries"_a.noconvert(), "panels"_a.noconvert(), nb::kw_only(), "n_rows"_a,
        "bias"_a.noconvert().none(), "ids"_a.noconvert(), "scores"_a.noconvert(), "instructions"_a,
        "n_threads"_a, "progress"_a.none());
    m.def(
        "rank_votes",
        [](const Matrix<std::int32_t>& neighbours, const Matrix<float>& weights, const CsrArrays& Y,
           std::int64_t n_labels, const Output<std::int32_t>& labels, const Output<float>& scores,
           unsigned n_threads, const nb::object& progress) {
            const CsrView view = checked_csr(Y, n_labels);
            const std::int64_t n_rows = extent(neighbours.shape(0));
            const std::int64_t width = extent(neighbours.shape(1));
            const std::int32_t* begin = neighbours.data();
            require(std::all_of(begin, begin + n_rows * width,
                                [&](std::int32_t id) { return id < view.n_rows; }),
                    "neighbours must be rows of Y");
            require(neighbours.shape(0) == weights.shape(0) &&
                        neighbours.shape(1) == weights.shape(1) &&
                        neighbours.shape(0) == labels.shape(0) &&
                        labels.shape(0) == scores.shape(0) && labels.shape(1) == scores.shape(1),
                    "results must have a row for each row of neighbours");
            run(n_threads, progress, [&](const Context& context) {
                rank_votes(context, n_rows, width, begin, weights.data(), view,
                           extent(labels.shape(1)), labels.data(), scores.data());
            });
        },
        "neighbours"_a.noconvert(), "weights"_a.noconvert(), "Y"_a.noconvert(), nb::kw_only(),
        "n_labels"_a, "labels"_a.noconvert(), "scores"_a.noconvert(), "n_threads"_a,
        "progress"_a.none());
}
