// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/agglomeration/co_occurrence.hpp"
#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// Limits the entries kept of a row, the largest: `max_growth` times its original number, but at
/// least `usual_size`, and never more than `max_entries`; 0 means no limit.
struct Room {
    std::int64_t max_growth = 0;
    std::int64_t usual_size = 0;
    std::int64_t max_entries = 0;
};

/// Imputes unit rows u: u + beta u C / |u C|, or u C if `betas` is null; the result is
/// L2-normalised. A row with beta 0 is returned unchanged, whatever the limits. C is the mean of
/// the blocks.
/// O(sum over the non-zeros of the sizes of their groups) per row. Memory: the result, and about
/// five bytes per feature and thread.
Csr impute(const Context& context, const CsrView& rows, const Vector<CoOccurrenceView>& blocks,
           const float* betas, const Room& room);

/// The same with row j of `companions` as row j of C.
Csr impute(const Context& context, const CsrView& rows, const CsrView& companions,
           const float* betas, const Room& room);

}  // namespace defrag
