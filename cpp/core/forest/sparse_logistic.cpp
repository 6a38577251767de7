// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest/sparse_logistic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace defrag {
namespace {

// Keeps the curvature of a feature away from zero.
constexpr double kDamping = 1e-12;
// Armijo rule: required share of the predicted decrease, factor per shortening of the step, and
// maximum number of shortenings.
constexpr double kDecrease = 0.01;
constexpr double kShorten = 0.5;
constexpr int kShortenings = 20;
// A feature enters the working set if its gradient exceeds the first share of the penalty, and
// stays among those measured in every round if it exceeds the second.
constexpr double kNearPenalty = 0.95;
constexpr double kFarFromPenalty = 0.6;
// A quadratic model is swept until its subgradient has decreased to this share.
constexpr double kModelTolerance = 0.1;

/// The violation of the optimality condition of a weight.
double violation(double weight, double gradient) {
    if (weight > 0.0) return std::abs(gradient + 1.0);
    if (weight < 0.0) return std::abs(gradient - 1.0);
    return std::max(std::abs(gradient) - 1.0, 0.0);
}

/// The change of a weight that minimises its quadratic model plus the penalty.
double newton_step(double weight, double slope, double curvature) {
    if (slope + 1.0 < curvature * weight) return -(slope + 1.0) / curvature;
    if (slope - 1.0 > curvature * weight) return -(slope - 1.0) / curvature;
    return -weight;
}

/// A sum of logarithms of numbers >= 1 that calls log once for many of them.
class LogSum {
 public:
    void add(double value) {
        product_ *= value;
        if (product_ > 1e200) flush();
    }
    double sum() {
        flush();
        return sum_;
    }

 private:
    void flush() {
        sum_ += std::log(product_);
        product_ = 1.0;
    }
    double product_ = 1.0;
    double sum_ = 0.0;
};

// Keeps the product in LogSum below overflow: e^200 times 1e200 is finite.
constexpr double kLargestExponent = 200.0;

}  // namespace

SparseLogistic::SparseLogistic(std::int64_t n_features)
    : dot_(select_gather_dot()), tallies_(n_features) {}

void SparseLogistic::solve(const CsrView& X, const std::int32_t* rows, std::int64_t n_rows,
                           const std::uint8_t* side, const SparseLogisticOptions& options,
                           Separator& out) {
    rows_ = rows;
    n_rows_ = n_rows;
    side_ = side;
    options_ = &options;
    screen(X);
    copy_columns(X);
    start();
    out.converged = false;
    double first = 0.0;
    for (out.n_rounds = 0; out.n_rounds < options.max_rounds; ++out.n_rounds) {
        bend();
        double norm = measure(out.n_rounds == 0);
        if (out.n_rounds == 0) {
            first = norm;
        } else if (norm <= options.tolerance * first && active_.size() < weights_.size()) {
            norm = measure(true);
        }
        out.converged = norm <= options.tolerance * first;
        if (out.converged) break;
        descend();
        if (!search_line()) break;
    }
    collect(out);
}

/// Finds the features whose weight may be non-zero.
void SparseLogistic::screen(const CsrView& X) {
    touched_.clear();
    const auto positive_cost = static_cast<float>(options_->positive_cost);
    const auto negative_cost = static_cast<float>(options_->negative_cost);
    for (std::int64_t i = 0; i < n_rows_; ++i) {
        const float signed_cost = side_[i] != 0 ? positive_cost : -negative_cost;
        for (std::int64_t p = X.begin(rows_[i]); p < X.end(rows_[i]); ++p) {
            Tally& tally = tallies_[X.indices[p]];
            if (tally.count++ == 0) touched_.push_back(X.indices[p]);
            const float pull = signed_cost * X.data[p];
            tally.pull[pull > 0.0F ? 1 : 0] += std::abs(pull);
        }
    }
    features_.clear();
    for (const std::int32_t feature : touched_) {
        const Tally& tally = tallies_[feature];
        if (std::max(tally.pull[0], tally.pull[1]) > 1.0F) features_.push_back(feature);
    }
    std::sort(features_.begin(), features_.end());
}

/// Copies the columns of these features, and the bias as an additional one.
void SparseLogistic::copy_columns(const CsrView& X) {
    const std::int64_t n_slots = features_.size() + 1;
    column_ptr_.resize(n_slots + 1);
    std::int64_t total = 0;
    for (std::int64_t slot = 0; slot + 1 < n_slots; ++slot) {
        Tally& tally = tallies_[features_[slot]];
        tally.slot = static_cast<std::int32_t>(slot);
        column_ptr_[slot] = total;
        total += tally.count;
    }
    column_ptr_[n_slots - 1] = total;
    column_ptr_[n_slots] = total + n_rows_;
    cell_rows_.resize(total + n_rows_);
    cell_values_.resize(total + n_rows_);
    Vector<std::int64_t>& next = column_ptr_;  // advances to the end of each column
    for (std::int64_t i = 0; i < n_rows_; ++i) {
        for (std::int64_t p = X.begin(rows_[i]); p < X.end(rows_[i]); ++p) {
            const std::int32_t slot = tallies_[X.indices[p]].slot;
            if (slot < 0) continue;
            const std::int64_t place = next[slot]++;
            cell_rows_[place] = static_cast<std::int32_t>(i);
            cell_values_[place] = X.data[p];
        }
    }
    for (std::int64_t slot = n_slots - 1; slot > 0; --slot)
        column_ptr_[slot] = column_ptr_[slot - 1];
    column_ptr_[0] = 0;
    std::iota(cell_rows_.begin() + total, cell_rows_.end(), 0);
    std::fill(cell_values_.begin() + total, cell_values_.end(), options_->bias);
    for (const std::int32_t feature : touched_) tallies_[feature] = Tally();
}

void SparseLogistic::start() {
    const std::int64_t n_slots = features_.size() + 1;
    margins_.assign(n_rows_, 0.0);
    steps_.assign(n_rows_, 0.0);
    odds_.assign(n_rows_, 1.0);
    slopes_.resize(n_rows_);
    curvatures_.resize(n_rows_);
    pulls_.resize(n_rows_);
    weights_.assign(n_slots, 0.0);
    gradient_.resize(n_slots);
    direction_.assign(n_slots, 0.0);
    hessian_.resize(n_slots);
    loss_ = 0.0;
    for (std::int64_t i = 0; i < margins_.size(); ++i) loss_ += cost(i) * std::log(2.0);
}

/// Computes the first and second derivatives of the losses at the current margins.
void SparseLogistic::bend() {
    for (std::int64_t i = 0; i < margins_.size(); ++i) {
        const double wrong = odds_[i] / (1.0 + odds_[i]);
        const double slope = cost(i) * wrong;
        slopes_[i] = static_cast<float>(side_[i] != 0 ? -slope : slope);
        curvatures_[i] = static_cast<float>(slope * (1.0 - wrong));
    }
}

/// Computes the gradients of all slots or of the active ones, selects the active and working slots,
/// and returns the norm of the minimum-norm subgradient.
double SparseLogistic::measure(bool all) {
    if (all) {
        active_.resize(weights_.size());
        std::iota(active_.begin(), active_.end(), 0);
    }
    double norm = 0.0;
    working_.clear();
    std::int64_t n_active = 0;
    for (const std::int32_t slot : active_) {
        const auto sum = static_cast<double>(dot(slot, slopes_));
        gradient_[slot] = sum;
        norm += violation(weights_[slot], sum);
        const bool used = weights_[slot] != 0.0;
        if (used || std::abs(sum) > kNearPenalty) working_.push_back(slot);
        if (used || std::abs(sum) > kFarFromPenalty) active_[n_active++] = slot;
    }
    active_.resize(n_active);
    for (const std::int32_t slot : working_) {
        double sum = kDamping;
        for (auto c = column_ptr_[slot]; c < column_ptr_[slot + 1]; ++c) {
            const float value = cell_values_[c];
            sum += static_cast<double>(curvatures_[cell_rows_[c]] * value * value);
        }
        hessian_[slot] = sum;
    }
    return norm;
}

/// Minimises the quadratic model plus the penalty by coordinate descent. A weight that is zero and
/// satisfies its optimality condition is not visited again.
void SparseLogistic::descend() {
    for (const std::int32_t slot : working_) direction_[slot] = 0.0;
    std::fill(pulls_.begin(), pulls_.end(), 0.0F);
    moving_ = working_;
    double first = 0.0;
    for (int sweep = 0; sweep < options_->max_sweeps; ++sweep) {
        double norm = 0.0;
        std::int64_t n_moving = 0;
        for (const std::int32_t slot : moving_) {
            const double slope = gradient_[slot] + static_cast<double>(dot(slot, pulls_));
            const double weight = weights_[slot] + direction_[slot];
            if (weight == 0.0 && std::abs(slope) <= 1.0) continue;
            moving_[n_moving++] = slot;
            norm += violation(weight, slope);
            const double change = newton_step(weight, slope, hessian_[slot]);
            direction_[slot] += change;
            const auto moved = static_cast<float>(change);
            for (auto c = column_ptr_[slot]; c < column_ptr_[slot + 1]; ++c) {
                const std::int64_t row = cell_rows_[c];
                pulls_[row] += moved * cell_values_[c] * curvatures_[row];
            }
        }
        moving_.resize(n_moving);
        if (sweep == 0) first = norm;
        if (norm <= kModelTolerance * first) break;
    }
    std::fill(steps_.begin(), steps_.end(), 0.0);
    for (const std::int32_t slot : working_) {
        const double way = direction_[slot];
        if (way == 0.0) continue;
        for (auto c = column_ptr_[slot]; c < column_ptr_[slot + 1]; ++c) {
            steps_[cell_rows_[c]] += way * static_cast<double>(cell_values_[c]);
        }
    }
}

/// Returns the loss after a step of this length; stores the odds of every row.
double SparseLogistic::loss_at(double length) {
    LogSum sums[2];
    for (std::int64_t i = 0; i < margins_.size(); ++i) {
        const double margin = margins_[i] + length * steps_[i];
        const double exponent = side_[i] != 0 ? -margin : margin;
        odds_[i] = std::exp(std::min(exponent, kLargestExponent));
        sums[side_[i] != 0 ? 1 : 0].add(1.0 + odds_[i]);
    }
    return options_->positive_cost * sums[1].sum() + options_->negative_cost * sums[0].sum();
}

/// Takes the longest step of the line search that decreases the objective enough; returns whether
/// there is one.
bool SparseLogistic::search_line() {
    double predicted = 0.0;
    double norm = 0.0;
    for (const std::int32_t slot : working_) {
        const double weight = weights_[slot];
        predicted += gradient_[slot] * direction_[slot] + std::abs(weight + direction_[slot]) -
                     std::abs(weight);
        norm += std::abs(weight);
    }
    double length = 1.0;
    for (int attempt = 0; attempt < kShortenings; ++attempt, length *= kShorten) {
        double moved = 0.0;
        for (const std::int32_t slot : working_) {
            moved += std::abs(weights_[slot] + length * direction_[slot]);
        }
        const double loss = loss_at(length);
        if (loss + moved - loss_ - norm > kDecrease * length * predicted) continue;
        for (const std::int32_t slot : working_) {
            weights_[slot] += length * direction_[slot];
        }
        for (std::int64_t i = 0; i < margins_.size(); ++i) margins_[i] += length * steps_[i];
        loss_ = loss;
        return true;
    }
    return false;
}

void SparseLogistic::collect(Separator& out) {
    out.features.clear();
    out.weights.clear();
    out.bias = static_cast<float>(weights_.back() * static_cast<double>(options_->bias));
    std::fill(margins_.begin(), margins_.end(), static_cast<double>(out.bias));
    for (std::int64_t slot = 0; slot < features_.size(); ++slot) {
        const auto weight = static_cast<float>(weights_[slot]);
        if (weight == 0.0F) continue;
        out.features.push_back(features_[slot]);
        out.weights.push_back(weight);
        for (auto c = column_ptr_[slot]; c < column_ptr_[slot + 1]; ++c) {
            margins_[cell_rows_[c]] +=
                static_cast<double>(weight) * static_cast<double>(cell_values_[c]);
        }
    }
}

}  // namespace defrag
