// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bindings/attributes.hpp"
#include "core/agglomeration/co_occurrence.hpp"

namespace defrag {

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

}  // namespace defrag
