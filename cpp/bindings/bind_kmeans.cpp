// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/kmeans.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/results.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

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
            return run(n_threads, progress, [&](const Context& context) {
                return spherical_kmeans(context, items, options);
            });
        },
        "items"_a, nb::kw_only(), "n_clusters"_a, "tolerance"_a = defaults.tolerance,
        "max_rounds"_a = defaults.max_rounds, "seed"_a = defaults.seed, "item"_a = defaults.item,
        "panel_bytes"_a = defaults.panel_bytes, "instructions"_a = defaults.instructions,
        "n_threads"_a = 1, "progress"_a = nb::none());
}
