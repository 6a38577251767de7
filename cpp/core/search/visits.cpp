// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/visits.hpp"

#include <algorithm>

namespace defrag {

void order_by_node(const Crew& crew, Vector<Visit>* ranges, std::int64_t n_ranges,
                   Vector<Visit>& ordered) {
    Vector<std::int32_t> lowest(n_ranges);
    Vector<std::int32_t> highest(n_ranges);
    crew.each(n_ranges, [&](std::int64_t r, unsigned) {
        std::int32_t low = std::numeric_limits<std::int32_t>::max();
        std::int32_t high = 0;
        for (const Visit& visit : ranges[r]) {
            low = std::min(low, visit.node);
            high = std::max(high, visit.node);
        }
        lowest[r] = low;
        highest[r] = high;
    });
    const std::int32_t first = *std::min_element(lowest.begin(), lowest.end());
    const std::int32_t last = *std::max_element(highest.begin(), highest.end());
    std::int64_t n_visits = 0;
    for (std::int64_t r = 0; r < n_ranges; ++r) n_visits += ranges[r].size();
    ordered.resize_for_overwrite(n_visits);
    if (n_visits == 0) return;
    const std::int64_t n_nodes = std::int64_t{last} - first + 1;
    if (n_nodes > n_visits) {
        const auto over_visits = [&](auto body) {
            std::int64_t i = 0;
            for (std::int64_t r = 0; r < n_ranges; ++r) {
                for (Visit& visit : ranges[r]) body(visit, i++);
            }
        };
        over_visits([&](Visit& visit, std::int64_t i) {
            visit.place = i;
            ordered[i] = visit;
        });
        std::sort(ordered.begin(), ordered.end(), [](const Visit& a, const Visit& b) {
            return a.node != b.node ? a.node < b.node : a.row < b.row;
        });
        Vector<std::int64_t> places(n_visits);
        for (std::int64_t i = 0; i < n_visits; ++i) {
            places[ordered[i].place] = i;
            ordered[i].place = i;
        }
        over_visits([&](Visit& visit, std::int64_t i) { visit.place = places[i]; });
        return;
    }
    Vector<std::int64_t> places(checked_product(n_nodes, n_ranges));  // [range][node]
    crew.each(n_ranges, [&](std::int64_t r, unsigned) {
        std::int64_t* own = places.data() + r * n_nodes;
        for (const Visit& visit : ranges[r]) ++own[visit.node - first];
    });
    std::int64_t total = 0;
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        for (std::int64_t r = 0; r < n_ranges; ++r) {
            total += std::exchange(places[r * n_nodes + node], total);
        }
    }
    crew.each(n_ranges, [&](std::int64_t r, unsigned) {
        std::int64_t* own = places.data() + r * n_nodes;
        for (Visit& visit : ranges[r]) {
            visit.place = own[visit.node - first]++;
            ordered[visit.place] = visit;
        }
    });
}

}  // namespace defrag
