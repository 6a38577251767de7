// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/arrays.hpp"

#include "core/base/csr.hpp"
#include "core/base/gather_dot.hpp"

namespace defrag {

/// The problem solved:
///   min_w |w|_1 + sum_i cost(side_i) log(1 + exp(-s_i w.x_i)),   s_i = 1 or -1,
/// where x_i ends with a bias feature of value `bias`, whose weight is penalised like any other.
struct SparseLogisticOptions {
    double positive_cost = 1.0;
    double negative_cost = 1.0;
    float bias = 1.0F;
    /// Maximum number of quadratic models, and of sweeps over each.
    int max_rounds = 10;
    int max_sweeps = 10;
    /// Stop when the norm of the minimum-norm subgradient is this share of its value at zero.
    double tolerance = 1e-2;
};

/// A separator: features in ascending order, their weights, and the weight of the bias times its
/// value.
struct Separator {
    Vector<std::int32_t> features;
    Vector<float> weights;
    float bias = 0.0F;
    int n_rounds = 0;
    bool converged = false;
};

/// L1-regularised logistic regression on some rows of a matrix by proximal Newton steps (Yuan, Ho
/// and Lin, JMLR 2012). A feature whose gradient cannot reach the penalty at any w is screened out:
/// with P and N the sums of cost * |x| that pull its weight up and down, the gradient lies between
/// -P and N, so that max(P, N) <= 1 keeps the weight at zero. In a node of a few dozen rows this
/// removes most features. A round works on those of the others whose gradient is near the penalty
/// or whose weight is non-zero; gradients far below it are measured again before the end.
/// O(non-zeros) for the first two passes, then O(non-zeros of the remaining features) per round.
/// One thread; memory: O(features) and a copy of the remaining entries, both reused.
class SparseLogistic {
 public:
    explicit SparseLogistic(std::int64_t n_features);

    /// Computes the separator of rows[0..n_rows) of X; rows with side[i] != 0 are positive.
    void solve(const CsrView& X, const std::int32_t* rows, std::int64_t n_rows,
               const std::uint8_t* side, const SparseLogisticOptions& options, Separator& out);

    /// The margins of these rows under the returned separator: the bias, then the features in
    /// order, in double precision, exactly as forest_search computes them.
    const Vector<double>& margins() const { return margins_; }

 private:
    struct Tally {
        float pull[2] = {0.0F, 0.0F};  // sums of |cost x| that pull the weight down, up
        std::int32_t count = 0;
        std::int32_t slot = -1;
    };

    void screen(const CsrView& X);
    void copy_columns(const CsrView& X);
    void start();
    void bend();
    double measure(bool all);
    void descend();
    bool search_line();
    double loss_at(double length);
    double cost(std::int64_t i) const {
        return side_[i] != 0 ? options_->positive_cost : options_->negative_cost;
    }
    /// Dot product of the column of a slot with a dense vector.
    float dot(std::int64_t slot, const Vector<float>& dense) const {
        const std::int64_t begin = column_ptr_[slot];
        return dot_(cell_rows_.data() + begin, cell_values_.data() + begin,
                    column_ptr_[slot + 1] - begin, dense.data());
    }
    void collect(Separator& out);

    GatherDot dot_;
    const std::int32_t* rows_ = nullptr;
    std::int64_t n_rows_ = 0;
    const std::uint8_t* side_ = nullptr;
    const SparseLogisticOptions* options_ = nullptr;

    Vector<Tally> tallies_;            // per feature, cleared after use
    Vector<std::int32_t> touched_;     // features that occur
    Vector<std::int32_t> features_;    // remaining features, ascending
    Vector<std::int64_t> column_ptr_;  // of slots; the last slot is the bias
    Vector<std::int32_t> cell_rows_;
    Vector<float> cell_values_;
    // By row.
    Vector<double> margins_;
    Vector<double> steps_;      // change of the margin along the current direction
    Vector<double> odds_;       // e^(-s margin) at the last step length tried
    Vector<float> slopes_;      // derivative of the loss with respect to the margin
    Vector<float> curvatures_;  // second derivative
    Vector<float> pulls_;       // curvature times step
    // By slot.
    Vector<double> weights_;
    Vector<double> gradient_;
    Vector<double> direction_;
    Vector<double> hessian_;
    Vector<std::int32_t> active_;   // slots measured in every round
    Vector<std::int32_t> working_;  // slots that a round updates
    Vector<std::int32_t> moving_;   // working slots that are still swept
    double loss_ = 0.0;
};

}  // namespace defrag
