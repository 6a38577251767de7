// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/co_occurrence.hpp"
#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// How many entries of a row are kept, the largest: `max_growth` times those it had, though at
/// least `usual_size`, and `max_entries` in all; 0 is no limit.
struct Room {
    std::int64_t max_growth = 0;
    std::int64_t usual_size = 0;
    std::int64_t max_entries = 0;
};

/// Imputes rows u of length 1: u + beta u C / |u C|, or u C where `betas` is nullptr; the
/// result has length 1. A row with beta 0 stays as it is, whatever the room. C is the mean of the
/// blocks. O(sum over the non-zeros of the sizes of their groups) per row; memory: the result, and
/// per thread some five bytes per feature.
Csr impute(const Context& context, const CsrView& rows, const Vector<CoOccurrenceView>& blocks,
           const float* betas, const Room& room);

/// The same with the companions of each feature as C, one row for each.
Csr impute(const Context& context, const CsrView& rows, const CsrView& companions,
           const float* betas, const Room& room);

}  // namespace defrag
