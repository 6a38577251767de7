// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// The problem solved for every label:
///   min_w l1 |w|_1 + cost * sum_i max(0, 1 - y_i w.x_i)^2,
/// where x_i ends with a bias feature of value 1, whose weight is penalised like any other.
struct ProxmlOptions {
    double cost = 1.0;
    double l1 = 0.1;
    std::int64_t max_rounds = 50;
    /// Sweeps over all chosen weights in a round.
    std::int64_t max_sweeps = 10;
    /// A label is finished when two consecutive rounds each reduce the objective by less than this
    /// share.
    double tolerance = 1e-2;
};

/// Statistics of the solution of one label.
struct ProxmlReport {
    std::int64_t rounds = 0;
    bool converged = false;
    double objective = 0.0;  // over all rows
};

struct ProxmlSolution {
    Csr weights;  // labels x (features + 1); the last column is the bias
    Vector<ProxmlReport> reports;
};

/// Trains ProXML (Babbar and Schoelkopf, Machine Learning 2019): proximal coordinate steps, each
/// scaled by its own curvature. A round chooses the rows that violate their margin and the features
/// with a gradient above l1, which for a rare label are a few dozen of each; before the next round,
/// all rows are scored through an inverted index, so that the objective is exact and no row is
/// overlooked. `positives` has one row per label: the rows of X that have it.
/// A round costs the postings of the features in use, and max_sweeps passes over the chosen part of
/// X. Memory: the inverted index, and per thread about 20 bytes per row and per feature.
ProxmlSolution train_proxml(const Context& context, const CsrView& X, const CsrView& positives,
                            const ProxmlOptions& options);

}  // namespace defrag
