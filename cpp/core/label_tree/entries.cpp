// SPDX-License-Identifier: BSD-3-Clause
#include "core/label_tree/entries.hpp"

#include <stdexcept>

namespace defrag {

template <class Size, class Output>
EntriesReport inspect_entries(const std::int64_t* feature_ptr, const std::int64_t* widths,
                              std::int64_t n_nodes, const Size* sizes, std::int64_t n_features,
                              const Output* outputs, std::int64_t n_entries) {
    EntriesReport report;
    report.starts.reserve(n_features / TreeEntries::kSizesPerStart + 1);
    std::int64_t node = 0;
    std::int64_t entry = 0;
    for (std::int64_t f = 0; f < n_features; ++f) {
        if (f % TreeEntries::kSizesPerStart == 0) report.starts.push_back(entry);
        while (node < n_nodes && feature_ptr[node + 1] <= f) ++node;
        const auto size = static_cast<std::int64_t>(sizes[f]);
        if (node == n_nodes || size > n_entries - entry) {
            throw std::invalid_argument("sizes and feature_ptr must fit the outputs");
        }
        std::int64_t before = -1;
        for (const std::int64_t end = entry + size; entry < end; ++entry) {
            const auto output = static_cast<std::int64_t>(outputs[entry]);
            if (output <= before && report.not_rising < 0) report.not_rising = entry;
            if (output >= widths[node] && report.too_large < 0) report.too_large = entry;
            before = output;
        }
    }
    if (n_features % TreeEntries::kSizesPerStart == 0) report.starts.push_back(entry);
    return report;
}

template EntriesReport inspect_entries(const std::int64_t*, const std::int64_t*, std::int64_t,
                                       const std::uint16_t*, std::int64_t, const std::uint8_t*,
                                       std::int64_t);
template EntriesReport inspect_entries(const std::int64_t*, const std::int64_t*, std::int64_t,
                                       const std::uint16_t*, std::int64_t, const std::uint16_t*,
                                       std::int64_t);
template EntriesReport inspect_entries(const std::int64_t*, const std::int64_t*, std::int64_t,
                                       const std::uint32_t*, std::int64_t, const std::uint8_t*,
                                       std::int64_t);
template EntriesReport inspect_entries(const std::int64_t*, const std::int64_t*, std::int64_t,
                                       const std::uint32_t*, std::int64_t, const std::uint16_t*,
                                       std::int64_t);

}  // namespace defrag
