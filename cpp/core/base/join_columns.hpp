// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// Returns the columns of several matrices with the same number of rows side by side. Throws
/// std::invalid_argument if the numbers of rows differ, or if there are more columns than an index
/// can hold. O(entries + rows * matrices), divided among all threads.
Csr join_columns(const Context& context, const Vector<CsrView>& matrices);

}  // namespace defrag
