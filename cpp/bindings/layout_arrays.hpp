// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bindings/arrays.hpp"
#include "core/co_occurrence.hpp"

namespace defrag {

/// A layout as Python passes it: groups, slots, member_ptr, members, entry_ptr.
using LayoutArrays = std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int64_t>,
                                Array<std::int32_t>, Array<std::int64_t>>;

inline GroupLayout layout_view(const LayoutArrays& layout) {
    const auto& [groups, slots, member_ptr, members, entry_ptr] = layout;
    const std::size_t n_groups = member_ptr.size() - 1;
    require(member_ptr.size() > 0 && entry_ptr.size() == member_ptr.size() &&
                slots.size() == groups.size() &&
                member_ptr.data()[n_groups] == static_cast<std::int64_t>(members.size()),
            "the arrays of a layout must fit each other");
    return {static_cast<std::int64_t>(member_ptr.size()) - 1,
            groups.data(),
            slots.data(),
            member_ptr.data(),
            members.data(),
            entry_ptr.data()};
}

}  // namespace defrag
