// SPDX-License-Identifier: BSD-3-Clause
#include "core/focusing/pilot.hpp"

#include <cmath>

namespace defrag {

Vector<float> feature_importance(const Context& context, const CsrView& X, const CsrView& Y,
                                 const std::int32_t* groups, const std::int64_t* points,
                                 std::int64_t n_points, const SolverOptions& options) {
    CompactRows rows;
    rows.assign_unit_rows(context, X, points, n_points, options.bias);
    BlockSolver solver;
    solver.start(rows, kLanes);
    for (std::int64_t i = 0; i < n_points; ++i) {
        const std::int64_t point = points == nullptr ? i : points[i];
        for (std::int64_t p = Y.begin(point); p < Y.end(point); ++p) {
            solver.mark(groups[Y.indices[p]], i);
        }
    }
    solver.solve(context, options, 0);
    BlockWeights found;
    solver.collect(options, found);
    Vector<double> squares(rows.n_slots());
    for (std::int64_t i = 0; i < found.slots.size(); ++i) {
        const auto weight = static_cast<double>(found.weights[i]);
        squares[found.slots[i]] += weight * weight;
    }
    Vector<float> importance(X.n_cols);
    for (std::int64_t slot = 1; slot < rows.n_slots(); ++slot) {
        importance[rows.feature(slot)] = static_cast<float>(std::sqrt(squares[slot]));
    }
    return importance;
}

}  // namespace defrag
