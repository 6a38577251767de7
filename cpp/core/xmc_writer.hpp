// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "core/csr.hpp"
#include "core/xmc_parser.hpp"

namespace defrag {

struct FormatOptions {
    TextLayout layout = TextLayout::kCombined;
    std::int64_t first_feature = 0;  // what ids count from: 0 or 1
    std::int64_t first_label = 0;
};

/// Writes the rows [begin, end) as lines that TextParser reads back bit by bit; headers are
/// the caller's. Values have the fewest digits that still round to the same float. The feature
/// layout ignores `labels`, the label layout `features`; rows are written in the order they
/// have. A combined point with neither labels nor features is a line with one space.
std::string format_rows(const CsrView& features, const CsrView& labels,
                        const FormatOptions& options, std::int64_t begin, std::int64_t end);

}  // namespace defrag
