// SPDX-License-Identifier: BSD-3-Clause
#include "core/neighbours/sparse_dense.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/dense_arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_sparse_dense(nb::module_& m) {
    m.def(
        "sparse_dense",
        [](const CsrView& A, const Matrix<float>& B, Instructions instructions, unsigned n_threads,
           const nb::object& progress) {
            const DenseView right = dense_view(B);
            require(A.n_cols == right.n_rows, "A must have as many columns as B has rows");
            Numpy<float, 2> product = empty_matrix<float>(A.n_rows, right.n_cols);
            run(n_threads, progress, [&](const Context& context) {
                sparse_dense(context, A, right, product.data(), instructions);
            });
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
            run(n_threads, progress, [&](const Context& context) {
                pair_products(context, pattern, a, b, products.data(), instructions);
            });
            return to_numpy(std::move(products));
        },
        "pattern"_a, "left"_a, "right"_a, nb::kw_only(), "instructions"_a = Instructions::kBest,
        "n_threads"_a, "progress"_a = nb::none());
}
