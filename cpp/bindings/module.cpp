// SPDX-License-Identifier: BSD-3-Clause
// Table of contents of the compiled module; a file registers one room of cpp/core.
#include "bindings/run.hpp"

namespace nb = nanobind;

void bind_agglomeration(nb::module_& m);
void bind_base(nb::module_& m);
void bind_focusing(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_formats(nb::module_& m);
void bind_imputation(nb::module_& m);
void bind_label_tree(nb::module_& m);
void bind_neighbours(nb::module_& m);
void bind_one_vs_rest(nb::module_& m);
void bind_search(nb::module_& m);
void bind_text(nb::module_& m);

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of defrag; private, reached through defrag._native only.";
#ifdef NDEBUG
    // A model that a cache keeps until the process ends is no mistake of the user.
    nb::set_leak_warnings(false);
#endif
    defrag::guard_exit();
    bind_base(m);
    bind_one_vs_rest(m);  // before the rooms that use its enums
    bind_agglomeration(m);
    bind_focusing(m);
    bind_formats(m);
    bind_text(m);
    bind_label_tree(m);
    bind_search(m);
    bind_neighbours(m);
    bind_imputation(m);
    bind_forest(m);
}
