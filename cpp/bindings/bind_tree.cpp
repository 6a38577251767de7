// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/tree.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_tree(nb::module_& m) {
    nb::enum_<SplitRule>(m, "SplitRule")
        .value("kmeans", SplitRule::kKMeans)
        .value("ndcg", SplitRule::kNdcg);
    m.def(
        "min_hash_order",
        [](const CsrView& items, std::uint64_t seed, unsigned n_threads) {
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return min_hash_order(context, items, seed);
            }));
        },
        "items"_a, nb::kw_only(), "seed"_a, "n_threads"_a);
    m.def(
        "split_items",
        [](const CsrView& items, const Array<std::int32_t>& first_child,
           const Array<std::int64_t>& begin, const Array<std::int64_t>& end, SplitRule rule,
           double tolerance, int max_iterations, std::uint64_t seed,
           const std::optional<Array<std::int64_t>>& starts, unsigned n_threads,
           const nb::object& progress) {
            const std::size_t n_nodes = first_child.size();
            require(begin.size() == n_nodes && end.size() == n_nodes &&
                        (!starts || starts->size() == 2 * n_nodes),
                    "the arrays of a tree must have one entry per node, starts two");
            const TreeShape shape{n_items(first_child), first_child.data(), begin.data(),
                                  end.data()};
            const SplitOptions options{rule, tolerance, max_iterations, seed, pointer(starts)};
            TreeResult result = run(n_threads, progress, [&](const Context& context) {
                return split_items(context, items, shape, options);
            });
            return std::tuple(to_numpy(std::move(result.order)),
                              to_numpy(std::move(result.objective)),
                              to_numpy(std::move(result.n_rounds)));
        },
        "items"_a, nb::kw_only(), "first_child"_a.noconvert(), "begin"_a.noconvert(),
        "end"_a.noconvert(), "rule"_a, "tolerance"_a, "max_iterations"_a, "seed"_a,
        "starts"_a.noconvert().none(), "n_threads"_a, "progress"_a = nb::none());
}
