// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bindings/arrays.hpp"
#include "core/neighbours/dense_rows.hpp"

namespace defrag {

inline DenseView dense_view(const Matrix<float>& matrix) {
    return {static_cast<std::int64_t>(matrix.shape(0)), static_cast<std::int64_t>(matrix.shape(1)),
            matrix.data()};
}

}  // namespace defrag
