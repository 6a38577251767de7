// SPDX-License-Identifier: BSD-3-Clause
#include "core/impute.hpp"

#include <nanobind/stl/pair.h>

#include "bindings/layout_arrays.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

using BlockArrays = std::pair<LayoutArrays, Array<float>>;

/// The list must outlive the views.
Vector<CoOccurrenceView> related_view(const nb::list& blocks, std::int64_t n_features) {
    Vector<CoOccurrenceView> views;
    for (const auto& [layout, entries] : items_of<BlockArrays>(blocks)) {
        const CoOccurrenceView view{layout_view(layout), entries.data()};
        require(std::get<0>(layout).size() == static_cast<std::size_t>(n_features) &&
                    view.layout.entry_ptr[view.layout.n_groups] ==
                        static_cast<std::int64_t>(entries.size()),
                "blocks must have a group per feature and all entries of their layout");
        views.push_back(view);
    }
    return views;
}

CsrView related_view(const CsrArrays& companions, std::int64_t n_features) {
    const CsrView view = model_view(companions, n_features);
    require(view.n_rows == n_features, "companions must have one row per feature");
    return view;
}

/// Registers the imputation from blocks or from lists; Python sees one function.
template <class Related>
void bind_impute_from(nb::module_& m) {
    m.def(
        "impute",
        [](const CsrArrays& rows, const Related& related, const std::optional<Array<float>>& betas,
           std::int64_t n_features, std::int64_t max_growth, std::int64_t usual_size,
           std::int64_t max_entries, unsigned n_threads) {
            const CsrView view = csr_view(rows, n_features);
            check_size(betas, view.n_rows, "betas must have one entry per row");
            const auto C = related_view(related, n_features);
            return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                return impute(context, view, C, pointer(betas),
                              {max_growth, usual_size, max_entries});
            }));
        },
        "rows"_a.noconvert(), "related"_a.noconvert(), "betas"_a.noconvert().none(), nb::kw_only(),
        "n_features"_a, "max_growth"_a, "usual_size"_a, "max_entries"_a, "n_threads"_a);
}

}  // namespace

void bind_impute(nb::module_& m) {
    bind_impute_from<nb::list>(m);
    bind_impute_from<CsrArrays>(m);
}
