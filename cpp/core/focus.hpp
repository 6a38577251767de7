// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/csr.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// Keeps of every row with c entries the ceil(budget sqrt(c)) entries of largest
/// |x_j| importance[j], equal ones by feature, and multiplies each by factor[j]; a budget of 0
/// keeps all entries. Columns stay sorted, and a row alone gives the same result as in a matrix.
/// `importance` and `factor` have matrix.n_cols items. Linear in the non-zeros: the entries to
/// keep are found by selection, not by sorting. Scratch of one row per thread. Throws
/// std::invalid_argument when a product is not finite.
Csr focus_rows(const Context& context, const CsrView& matrix, const float* importance,
               const float* factor, double budget);

}  // namespace defrag
