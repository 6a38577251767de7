// SPDX-License-Identifier: BSD-3-Clause
#include "core/imputation/imputation.hpp"
#include "bindings/attributes.hpp"
#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// The arrays of a group layout.
struct GroupLayoutArrays : Attributes {
    static constexpr auto kType = nb::detail::const_name("defrag._native.GroupLayout");
    static constexpr const char* kNames[] = {"groups", "slots", "member_ptr", "members",
                                             "entry_ptr"};
    std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int64_t>, Array<std::int32_t>,
               Array<std::int64_t>>
        arrays;

    std::int64_t n_features() const { return n_items(std::get<0>(arrays)); }

    GroupLayout view() const {
        const auto& [groups, slots, member_ptr, members, entry_ptr] = arrays;
        const std::int64_t n_groups = n_items(member_ptr) - 1;
        require(n_groups >= 0 && entry_ptr.size() == member_ptr.size() &&
                    slots.size() == groups.size() &&
                    member_ptr.data()[n_groups] == n_items(members),
                "the arrays of a layout must fit each other");
        return {n_groups,          groups.data(),  slots.data(),
                member_ptr.data(), members.data(), entry_ptr.data()};
    }
};

void bind_co_occurrence(nb::module_& m) {
    m.def(
        "co_occurrence",
        [](const CsrView& X, const GroupLayoutArrays& layout, bool cosine, unsigned n_threads) {
            require(layout.n_features() == X.n_cols, "a layout must have one group per feature");
            const GroupLayout view = layout.view();
            return to_numpy(run(n_threads, nb::none(), co_occurrence, X, view, cosine));
        },
        "X"_a, "layout"_a, nb::kw_only(), "cosine"_a, "n_threads"_a);
}

void bind_companions(nb::module_& m) {
    m.def(
        "companions",
        [](const CsrView& columns, const CsrView& X, const Array<float>& weights,
           std::int64_t n_best, std::int64_t max_rows, double ridge, double common,
           std::uint64_t seed, unsigned n_threads) {
            require(n_items(weights) == X.n_cols && columns.n_rows == X.n_cols &&
                        columns.n_cols == X.n_rows,
                    "columns must be the transpose of X, and weights have one entry per feature");
            require(n_best >= 1 && max_rows >= 1, "n_best and max_rows must be >= 1");
            return run(n_threads, nb::none(), [&](const Context& context) {
                return companions(context, columns, X, weights.data(),
                                  {n_best, max_rows, ridge, common, seed});
            });
        },
        "columns"_a, "X"_a, "weights"_a.noconvert(), nb::kw_only(), "n_best"_a, "max_rows"_a,
        "ridge"_a, "common"_a, "seed"_a, "n_threads"_a);
}

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

void bind_impute(nb::module_& m) {
    bind_impute_from<nb::list>(m);
    bind_impute_from<ModelCsr>(m);
}

}  // namespace

void bind_imputation(nb::module_& m) {
    bind_co_occurrence(m);
    bind_companions(m);
    bind_impute(m);
}
