// SPDX-License-Identifier: BSD-3-Clause
// Table of contents of the compiled module; each bind_*.cpp file registers one part.
#include "bindings/gil.hpp"

namespace nb = nanobind;

void bind_agglomeration(nb::module_& m);
void bind_beam_search(nb::module_& m);
void bind_best_first(nb::module_& m);
void bind_co_occurrence(nb::module_& m);
void bind_companions(nb::module_& m);
void bind_csr(nb::module_& m);
void bind_flat_search(nb::module_& m);
void bind_focus(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_forest_search(nb::module_& m);
void bind_impute(nb::module_& m);
void bind_join_columns(nb::module_& m);
void bind_kmeans(nb::module_& m);
void bind_matches(nb::module_& m);
void bind_nearest_rows(nb::module_& m);
void bind_node_steps(nb::module_& m);
void bind_path_parts(nb::module_& m);
void bind_pilot(nb::module_& m);
void bind_ppd_sparse(nb::module_& m);
void bind_proxml(nb::module_& m);
void bind_representations(nb::module_& m);
void bind_rerank(nb::module_& m);
void bind_sparse_dense(nb::module_& m);
void bind_text_counts(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_xmc_parser(nb::module_& m);
void bind_label_paths(nb::module_& m);
void bind_label_tree(nb::module_& m);
void bind_solver(nb::module_& m);

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of defrag; private, reached through defrag._native only.";
#ifdef NDEBUG
    // A model that a cache keeps until the process ends is no mistake of the user.
    nb::set_leak_warnings(false);
#endif
    defrag::guard_exit();
    bind_csr(m);
    bind_join_columns(m);
    bind_solver(m);  // before the kernels that use its enums
    bind_representations(m);
    bind_tree(m);
    bind_agglomeration(m);
    bind_pilot(m);
    bind_focus(m);
    bind_xmc_parser(m);
    bind_text_counts(m);
    bind_label_tree(m);
    bind_beam_search(m);
    bind_label_paths(m);
    bind_path_parts(m);
    bind_best_first(m);
    bind_kmeans(m);
    bind_flat_search(m);
    bind_sparse_dense(m);
    bind_nearest_rows(m);
    bind_matches(m);
    bind_co_occurrence(m);
    bind_companions(m);
    bind_impute(m);
    bind_rerank(m);
    bind_ppd_sparse(m);
    bind_proxml(m);
    bind_forest(m);
    bind_forest_search(m);
    bind_node_steps(m);
}
