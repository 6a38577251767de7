// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// Keeps, of every row with c entries, the ceil(budget sqrt(c)) entries with the largest
/// x_j| importance[j], ties going to the smaller feature, and multiplies each by factor[j]; a
/// budget of 0 keeps all entries. Columns stay sorted, and the result of a row does not depend on
/// the other rows. `importance` and `factor` have matrix.n_cols items.
/// O(non-zeros) time, since the entries are found by selection rather than by sorting; scratch of
/// one row per thread. Throws std::invalid_argument if a product is not finite.
Csr focus_rows(const Context& context, const CsrView& matrix, const float* importance,
               const float* factor, double budget);

}  // namespace defrag
