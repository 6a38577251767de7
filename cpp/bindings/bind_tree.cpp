// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/tree.hpp"

using namespace nanobind::literals;
using namespace defrag;

void bind_tree(nb::module_& m) {
    m.def(
        "min_hash_order",
        [](const CsrArrays& items, std::int64_t n_coords, std::uint64_t seed) {
            const CsrView view = csr_view(items, n_coords);
            return to_numpy(run(1, nb::none(), [&](const Context& context) {
                return min_hash_order(context, view, seed);
            }));
        },
        "items"_a.noconvert(), nb::kw_only(), "n_coords"_a, "seed"_a);
    m.def(
        "split_items",
        [](const CsrArrays& items, std::int64_t n_coords, const Array<std::int32_t>& first_child,
           const Array<std::int64_t>& begin, const Array<std::int64_t>& end, bool ndcg,
           double tolerance, int max_iterations, std::uint64_t seed,
           const std::optional<Array<std::int64_t>>& starts, unsigned n_threads,
           const nb::object& progress) {
            const CsrView view = csr_view(items, n_coords);
            const std::size_t n_nodes = first_child.size();
            require(begin.size() == n_nodes && end.size() == n_nodes &&
                        (!starts || starts->size() == 2 * n_nodes),
                    "the arrays of a tree must have one entry per node, starts two");
            const TreeShape shape{static_cast<std::int64_t>(first_child.size()), first_child.data(),
                                  begin.data(), end.data()};
            const SplitOptions options{ndcg ? SplitRule::kNdcg : SplitRule::kKMeans, tolerance,
                                       max_iterations, seed, pointer(starts)};
            TreeResult result = run(n_threads, progress, [&](const Context& context) {
                return split_items(context, view, shape, options);
            });
            return nb::make_tuple(to_numpy(std::move(result.order)),
                                  to_numpy(std::move(result.objective)),
                                  to_numpy(std::move(result.n_rounds)));
        },
        "items"_a.noconvert(), nb::kw_only(), "n_coords"_a, "first_child"_a.noconvert(),
        "begin"_a.noconvert(), "end"_a.noconvert(), "ndcg"_a, "tolerance"_a, "max_iterations"_a,
        "seed"_a, "starts"_a.noconvert().none(), "n_threads"_a, "progress"_a.none());
}
