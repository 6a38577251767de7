// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include "bindings/arrays.hpp"
#include "bindings/solver_options.hpp"
#include "core/kmeans.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_kmeans(nb::module_& m) {
    m.def(
        "spherical_kmeans",
        [](const CsrArrays& items, std::int64_t n_coords, std::int64_t n_clusters, double tolerance,
           std::int64_t max_rounds, std::uint64_t seed, std::uint64_t item,
           std::int64_t panel_bytes, const std::string& instructions, unsigned n_threads,
           const nb::object& progress) {
            const CsrView view = csr_view(items, n_coords);
            const KMeansOptions options{n_clusters,
                                        tolerance,
                                        max_rounds,
                                        seed,
                                        item,
                                        panel_bytes,
                                        parse_instructions(instructions)};
            KMeansResult result = run(n_threads, progress, [&](const Context& context) {
                return spherical_kmeans(context, view, options);
            });
            return nb::make_tuple(to_numpy(std::move(result.cluster)),
                                  to_numpy(std::move(result.second)), result.objective,
                                  result.n_rounds);
        },
        "items"_a.noconvert(), nb::kw_only(), "n_coords"_a, "n_clusters"_a, "tolerance"_a,
        "max_rounds"_a, "seed"_a, "item"_a, "panel_bytes"_a, "instructions"_a, "n_threads"_a,
        "progress"_a.none());
}
