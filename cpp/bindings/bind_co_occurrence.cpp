// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "core/co_occurrence.hpp"
#include "core/impute.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// A layout as Python passes it: groups, slots, member_ptr, members, entry_ptr.
using LayoutArrays = std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int64_t>,
                                Array<std::int32_t>, Array<std::int64_t>>;
using BlockArrays = std::vector<std::pair<LayoutArrays, Array<float>>>;

GroupLayout layout_view(const LayoutArrays& layout) {
    const auto& [groups, slots, member_ptr, members, entry_ptr] = layout;
    return {static_cast<std::int64_t>(member_ptr.size()) - 1,
            groups.data(),
            slots.data(),
            member_ptr.data(),
            members.data(),
            entry_ptr.data()};
}

std::vector<CoOccurrenceView> block_views(const BlockArrays& blocks) {
    std::vector<CoOccurrenceView> views;
    for (const auto& [layout, entries] : blocks) {
        views.push_back({layout_view(layout), entries.data()});
    }
    return views;
}

}  // namespace

void bind_co_occurrence(nb::module_& m) {
    m.def(
        "co_occurrence",
        [](const CsrArrays& matrix, const LayoutArrays& layout, bool cosine, unsigned n_threads) {
            const CsrView view =
                csr_view(matrix, static_cast<std::int64_t>(std::get<0>(layout).size()));
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return co_occurrence(context, view, layout_view(layout), cosine);
            }));
        },
        "matrix"_a.noconvert(), "layout"_a.noconvert(), nb::kw_only(), "cosine"_a, "n_threads"_a);
    m.def(
        "impute",
        [](const CsrArrays& rows, const BlockArrays& blocks,
           const std::optional<Array<float>>& betas, std::int64_t n_features,
           std::int64_t max_growth, std::int64_t usual_size, std::int64_t max_entries,
           unsigned n_threads) {
            const CsrView view = csr_view(rows, n_features);
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return impute(context, view, block_views(blocks), pointer(betas),
                              {max_growth, usual_size, max_entries});
            }));
        },
        "rows"_a.noconvert(), "blocks"_a.noconvert(), "betas"_a.noconvert().none(), nb::kw_only(),
        "n_features"_a, "max_growth"_a, "usual_size"_a, "max_entries"_a, "n_threads"_a);
}
