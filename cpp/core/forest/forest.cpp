// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest/forest.hpp"

#include "core/base/csr.hpp"

namespace defrag {

Vector<std::int32_t> renumber(Vector<std::int32_t>& ids, std::int64_t range) {
    Vector<std::int32_t> numbers(range, -1);
    for (const std::int32_t id : ids) numbers[id] = 0;
    Vector<std::int32_t> used;
    for (std::int32_t id = 0; id < range; ++id) {
        if (numbers[id] < 0) continue;
        numbers[id] = static_cast<std::int32_t>(used.size());
        used.push_back(id);
    }
    for (std::int32_t& id : ids) id = numbers[id];
    return used;
}

}  // namespace defrag
