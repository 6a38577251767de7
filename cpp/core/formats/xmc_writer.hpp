// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/base/csr.hpp"
#include "core/formats/xmc_parser.hpp"

namespace defrag {

struct FormatOptions {
    TextLayout layout = TextLayout::kCombined;
    std::int64_t first_feature = 0;  // first id: 0 or 1
    std::int64_t first_label = 0;
};

/// Returns the rows [begin, end) as lines that TextParser reads back bit for bit; headers are left
/// to the caller. Values have the fewest digits that round to the same float. The feature layout
/// ignores `labels`, the label layout `features`; rows keep their order of entries. A combined
/// point with neither labels nor features is a line with one space.
std::string format_rows(const CsrView& features, const CsrView& labels,
                        const FormatOptions& options, std::int64_t begin, std::int64_t end);

}  // namespace defrag
