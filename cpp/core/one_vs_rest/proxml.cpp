// SPDX-License-Identifier: BSD-3-Clause
#include "core/one_vs_rest/proxml.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/blocks.hpp"
#include "core/base/inverted_index.hpp"
#include "core/base/ranking.hpp"
#include "core/solver/compact_rows.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kLabelGrain = 4;
// Minimum number of rows and features that a round may add.
constexpr std::int64_t kFewestRows = 100;
constexpr std::int64_t kFewestFeatures = 50;
// The bias, which all rows share, is updated once per this many other weights.
constexpr std::int64_t kBiasEvery = 16;

/// The minimiser of l1 |w| + gradient (w - weight) + 0.5 curvature (w - weight)^2.
double proximal_step(double weight, double gradient, double curvature, double l1) {
    const double target = weight - gradient / curvature;
    const double penalty = l1 / curvature;
    return std::max(target - penalty, 0.0) + std::min(target + penalty, 0.0);
}

/// An id with its strength; ties are broken by id.
struct Ranked {
    std::int32_t id;
    float strength;
};

/// Keeps the strongest, at most `count`, in ascending order of ids.
void keep_strongest(Vector<Ranked>& list, std::int64_t count) {
    const auto stronger = [](const Ranked& a, const Ranked& b) {
        return a.strength != b.strength ? a.strength > b.strength : a.id < b.id;
    };
    top_n(list, count, stronger);
    std::sort(list.begin(), list.end(),
              [](const Ranked& a, const Ranked& b) { return a.id < b.id; });
}

/// Solves one label at a time. Reuses its memory; one object per thread.
class LabelSolver {
 public:
    LabelSolver(const Context& context, const CsrView& X, const InvertedIndex& index,
                const ProxmlOptions& options)
        : context_(context),
          X_(X),
          index_(index),
          options_(options),
          weights_(X.n_cols),
          gradients_(X.n_cols),
          places_(X.n_cols, -1),
          signs_(X.n_rows),
          scores_(X.n_rows) {}

    ProxmlReport solve(const std::int32_t* positives, std::int64_t n_positives, RowBlock& out) {
        start(positives, n_positives);
        ProxmlReport report;
        report.objective = score_rows();
        for (int calm = 0; report.rounds < options_.max_rounds && calm < 2; ++report.rounds) {
            context_.check();
            choose_features();
            copy_columns();
            for (std::int64_t sweep = 0; sweep < options_.max_sweeps; ++sweep) run_sweep();
            keep_support();
            const double objective = score_rows();
            const bool still = report.objective - objective <= options_.tolerance * objective;
            calm = still ? calm + 1 : 0;
            report.converged = calm == 2;
            report.objective = objective;
        }
        collect(out);
        finish();
        return report;
    }

 private:
    void start(const std::int32_t* positives, std::int64_t n_positives) {
        // With this bias no negative has a loss, so a rare label starts with few rows.
        bias_ = -1.0;
        for (std::int64_t p = 0; p < n_positives; ++p) {
            rows_.push_back(positives[p]);
            signs_[positives[p]] = 1;
        }
        n_positives_ = rows_.size();
    }

    /// Scores all rows, lists the positives and the negatives to work on, and returns the
    /// objective.
    double score_rows() {
        double size = std::abs(bias_);
        for (const std::int32_t feature : support_) {
            const float weight = weights_[feature];
            size += std::abs(static_cast<double>(weight));
            scores_.add(index_.begin(feature), index_.size(feature), weight);
        }
        const double losses = drop_rows() + find_rows();
        margins_.resize(rows_.size());
        for (std::int64_t i = 0; i < rows_.size(); ++i) {
            margins_[i] = slack(rows_[i], i < n_positives_ ? 1.0F : -1.0F);
        }
        scores_.clear();
        return options_.l1 * size + options_.cost * losses;
    }

    float slack(std::int64_t row, float y) const {
        return 1.0F - y * (scores_[row] + static_cast<float>(bias_));
    }

    static double loss(float slack) {
        return slack > 0.0F ? static_cast<double>(slack) * static_cast<double>(slack) : 0.0;
    }

    /// Drops negatives far beyond the margin, and returns the loss of the listed rows. Negatives
    /// slightly beyond the margin stay, because they would otherwise keep leaving and re-entering
    /// the list.
    double drop_rows() {
        double losses = 0.0;
        for (std::int64_t i = 0; i < n_positives_; ++i) losses += loss(slack(rows_[i], 1.0F));
        std::int64_t kept = n_positives_;
        for (std::int64_t i = n_positives_; i < rows_.size(); ++i) {
            const float missing = slack(rows_[i], -1.0F);
            losses += loss(missing);
            if (missing > -0.5F) {
                rows_[kept++] = rows_[i];
            } else {
                signs_[rows_[i]] = 0;
            }
        }
        rows_.resize(kept);
        return losses;
    }

    /// Lists the worst of the other negatives with a loss, and returns the total loss of the
    /// latter.
    double find_rows() {
        double losses = 0.0;
        found_.clear();
        const auto offer = [&](std::int32_t row) {
            const float missing = slack(row, -1.0F);
            if (missing <= 0.0F || signs_[row] != 0) return;
            losses += loss(missing);
            found_.push_back({row, missing});
        };
        if (bias_ > -1.0) {
            for (std::int32_t row = 0; row < X_.n_rows; ++row) offer(row);
        } else {
            for (const std::int32_t row : scores_) offer(row);
        }
        keep_strongest(found_, std::max(kFewestRows, rows_.size()));
        for (const Ranked& one : found_) {
            rows_.push_back(one.id);
            signs_[one.id] = -1;
        }
        return losses;
    }

    /// Adds features whose gradient exceeds l1, in order of decreasing gradient.
    void choose_features() {
        touched_.clear();
        for (std::int64_t i = 0; i < rows_.size(); ++i) {
            if (margins_[i] <= 0.0F) continue;
            const float change = (i < n_positives_ ? -2.0F : 2.0F) * margins_[i];
            for (auto p = X_.begin(rows_[i]); p < X_.end(rows_[i]); ++p) {
                float& gradient = gradients_[X_.indices[p]];
                if (gradient == 0.0F) touched_.push_back(X_.indices[p]);
                gradient += change * X_.data[p];
            }
        }
        found_.clear();
        for (const std::int32_t feature : touched_) {
            const float size = std::abs(gradients_[feature]) * static_cast<float>(options_.cost);
            gradients_[feature] = 0.0F;
            if (size > static_cast<float>(options_.l1) && weights_[feature] == 0.0F) {
                found_.push_back({feature, size});
            }
        }
        keep_strongest(found_, std::max(kFewestFeatures, support_.size()));
        for (const Ranked& one : found_) support_.push_back(one.id);
    }

    /// Copies the listed rows as columns of the chosen features, each value multiplied by the sign
    /// of its row.
    void copy_columns() {
        starts_.assign(support_.size() + 1, 0);
        for (std::int64_t c = 0; c < support_.size(); ++c) {
            places_[support_[c]] = static_cast<std::int32_t>(c);
        }
        for (const std::int32_t row : rows_) {
            for (auto p = X_.begin(row); p < X_.end(row); ++p) {
                const std::int32_t place = places_[X_.indices[p]];
                if (place >= 0) ++starts_[place + 1];
            }
        }
        for (std::int64_t c = 0; c < support_.size(); ++c) starts_[c + 1] += starts_[c];
        entries_.resize(starts_.back());
        squares_.assign(support_.size(), 0.0);
        Vector<std::int64_t>& next = next_;
        next.assign(starts_.begin(), starts_.end() - 1);
        for (std::int64_t i = 0; i < rows_.size(); ++i) {
            for (auto p = X_.begin(rows_[i]); p < X_.end(rows_[i]); ++p) {
                const std::int32_t place = places_[X_.indices[p]];
                if (place < 0) continue;
                const float value = X_.data[p];
                entries_[next[place]++] = {static_cast<std::int32_t>(i),
                                           i < n_positives_ ? value : -value};
                squares_[place] += static_cast<double>(value) * static_cast<double>(value);
            }
        }
        for (const std::int32_t feature : support_) places_[feature] = -1;
    }

    /// Updates every chosen weight once, and the bias periodically.
    void run_sweep() {
        for (std::int64_t c = 0; c < support_.size(); ++c) {
            if (c % kBiasEvery == 0) move_bias();
            move_weight(c);
        }
        if (support_.empty()) move_bias();
    }

    /// The curvature of the rows with a loss, but at least half of that of all listed rows: a
    /// smaller curvature could give a step that increases the objective when rows regain a loss.
    double curvature(double active, double all) const {
        return 2.0 * options_.cost * std::max(active, 0.5 * all);
    }

    void move_weight(std::int64_t c) {
        double slope = 0.0;
        double active = 0.0;
        for (std::int64_t e = starts_[c]; e < starts_[c + 1]; ++e) {
            const auto value = static_cast<double>(entries_[e].value);
            const auto slack = static_cast<double>(margins_[entries_[e].row]);
            if (slack <= 0.0) continue;
            slope -= value * slack;
            active += value * value;
        }
        if (squares_[c] <= 0.0) return;
        float& weight = weights_[support_[c]];
        const auto moved = static_cast<float>(
            proximal_step(static_cast<double>(weight), 2.0 * options_.cost * slope,
                          curvature(active, squares_[c]), options_.l1));
        const float change = moved - weight;
        if (change == 0.0F) return;
        weight = moved;
        for (std::int64_t e = starts_[c]; e < starts_[c + 1]; ++e) {
            margins_[entries_[e].row] -= change * entries_[e].value;
        }
    }

    void move_bias() {
        double slope = 0.0;
        double active = 0.0;
        for (std::int64_t i = 0; i < margins_.size(); ++i) {
            if (margins_[i] <= 0.0F) continue;
            slope += (i < n_positives_ ? -1.0 : 1.0) * static_cast<double>(margins_[i]);
            active += 1.0;
        }
        const double moved =
            proximal_step(bias_, 2.0 * options_.cost * slope,
                          curvature(active, static_cast<double>(margins_.size())), options_.l1);
        const auto change = static_cast<float>(moved - bias_);
        bias_ = moved;
        for (std::int64_t i = 0; i < margins_.size(); ++i) {
            margins_[i] += i < n_positives_ ? -change : change;
        }
    }

    /// Removes features whose weight has returned to zero.
    void keep_support() {
        support_.erase(std::remove_if(support_.begin(), support_.end(),
                                      [this](std::int32_t f) { return weights_[f] == 0.0F; }),
                       support_.end());
    }

    void collect(RowBlock& out) {
        std::sort(support_.begin(), support_.end());
        for (const std::int32_t feature : support_) out.push(feature, weights_[feature]);
        out.push(static_cast<std::int32_t>(X_.n_cols), static_cast<float>(bias_));
    }

    void finish() {
        for (const std::int32_t row : rows_) signs_[row] = 0;
        for (const std::int32_t feature : support_) weights_[feature] = 0.0F;
        rows_.clear();
        support_.clear();
    }

    const Context& context_;
    const CsrView& X_;
    const InvertedIndex& index_;
    const ProxmlOptions& options_;
    double bias_ = 0.0;
    std::int64_t n_positives_ = 0;
    Vector<std::int32_t> rows_;  // listed: positives, then negatives
    Vector<float> margins_;      // of the listed rows: 1 - y w.x, a loss if positive
    Vector<std::int32_t> support_;
    Vector<float> weights_;
    Vector<float> gradients_;
    Vector<std::int32_t> touched_;
    Vector<std::int32_t> places_;
    Vector<std::int8_t> signs_;  // 1 and -1 for listed rows
    Vector<Ranked> found_;
    Vector<std::int64_t> starts_;
    Vector<std::int64_t> next_;
    Vector<Posting> entries_;
    Vector<double> squares_;
    RowScores scores_;
};

}  // namespace

ProxmlSolution train_proxml(const Context& context, const CsrView& X, const CsrView& positives,
                            const ProxmlOptions& options) {
    CompactRows::check_width(X);
    context.expect(positives.n_rows);
    const InvertedIndex index(context, X);
    PerWorker<LabelSolver> solvers(context,
                                   [&] { return LabelSolver(context, X, index, options); });
    ProxmlSolution solution;
    solution.reports.resize(positives.n_rows);
    solution.weights =
        build_rows(context, positives.n_rows, X.n_cols + 1, kLabelGrain,
                   [&](std::int64_t label, RowBlock& block, unsigned worker) {
                       const std::int64_t begin = positives.begin(label);
                       solution.reports[label] = solvers[worker].solve(
                           positives.indices + begin, positives.end(label) - begin, block);
                   });
    return solution;
}

}  // namespace defrag
