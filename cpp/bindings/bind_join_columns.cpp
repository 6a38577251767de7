// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"
#include "core/base/join_columns.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_join_columns(nb::module_& m) {
    m.def(
        "join_columns",
        [](const nb::list& matrices, unsigned n_threads) {
            Vector<CsrArgument> arguments(static_cast<std::int64_t>(matrices.size()));
            Vector<CsrView> views;
            for (std::int64_t i = 0; i < arguments.size(); ++i) {
                require(arguments[i].load(matrices[static_cast<std::size_t>(i)], 0, nullptr),
                        "matrices that are joined must be float32 CSR matrices");
                views.push_back(arguments[i].checked());
            }
            return run(n_threads, nb::none(),
                       [&](const Context& context) { return join_columns(context, views); });
        },
        "matrices"_a, nb::kw_only(), "n_threads"_a);
}
