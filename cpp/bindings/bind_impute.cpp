// SPDX-License-Identifier: BSD-3-Clause
#include "core/imputation/impute.hpp"

#include "bindings/csr_caster.hpp"
#include "bindings/group_layout_arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

using BlockArrays = std::pair<GroupLayoutArrays, Array<float>>;

/// The views refer to the arrays of the list, which must outlive them.
Vector<CoOccurrenceView> related_view(const nb::list& blocks, std::int64_t n_features) {
    Vector<CoOccurrenceView> views;
    for (const auto& [layout, entries] : items_of<BlockArrays>(blocks)) {
        const CoOccurrenceView view{layout.view(), entries.data()};
        require(layout.n_features() == n_features &&
                    view.layout.entry_ptr[view.layout.n_groups] == n_items(entries),
                "blocks must have a group per feature and all entries of their layout");
        views.push_back(view);
    }
    return views;
}

CsrView related_view(const ModelCsr& companions, std::int64_t n_features) {
    require(companions.view.n_rows == n_features && companions.view.n_cols == n_features,
            "companions must have one row and one column per feature");
    return companions.view;
}

/// Binds imputation from blocks or from companions as overloads of one Python function.
template <class Related>
void bind_impute_from(nb::module_& m) {
    m.def(
        "impute",
        [](const CsrView& X, const Related& C, const std::optional<Array<float>>& betas,
           std::int64_t max_growth, std::int64_t usual_size, std::int64_t max_entries,
           unsigned n_threads) {
            check_size(betas, X.n_rows, "betas must have one entry per row");
            const auto related = related_view(C, X.n_cols);
            return run(n_threads, nb::none(), [&](const Context& context) {
                return impute(context, X, related, pointer(betas),
                              {max_growth, usual_size, max_entries});
            });
        },
        "X"_a, "C"_a, "betas"_a.noconvert().none(), nb::kw_only(), "max_growth"_a,
        "usual_size"_a = Room().usual_size, "max_entries"_a = Room().max_entries, "n_threads"_a);
}

}  // namespace

void bind_impute(nb::module_& m) {
    bind_impute_from<nb::list>(m);
    bind_impute_from<ModelCsr>(m);
}
