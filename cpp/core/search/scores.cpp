// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/scores.hpp"

#include <cmath>
#include <limits>

namespace defrag {
namespace {

// Margins closer than kNear have their slope estimated by a difference quotient over kStep.
constexpr double kNear = 1e-6, kStep = 1e-4;
// If less than this share of the energy of a row remains, it is summed again, because the
// difference would consist mostly of rounding error.
constexpr double kNearlyNothing = 1e-6;

/// The slope of the gain between two margins.
double slope(const EdgeScore& rule, double margin, double start) {
    const double distance = margin - start;
    if (std::abs(distance) >= kNear) return (rule.gain(margin) - rule.gain(start)) / distance;
    return (rule.gain(margin + kStep) - rule.gain(margin - kStep)) / (2 * kStep);
}

/// (a - b) / (log a - log b), given the logarithms of a and b; a if they are equal.
double logarithmic_mean(double log_a, double log_b) {
    const double gap = std::abs(log_a - log_b);
    const double ratio = gap > 0.0 ? -std::expm1(-gap) / gap : 1.0;
    return std::exp(std::max(log_a, log_b)) * ratio;
}

/// Returns the norm of the row without each of its entries; infinity if nothing remains.
Vector<double> lengths_without(const PathRow& row) {
    const auto square = [&](std::int64_t j) {
        const double value = row.values[j];
        return value * value;
    };
    double total = 0.0;
    for (std::int64_t j = 0; j < row.n_entries; ++j) total += square(j);
    Vector<double> lengths(row.n_entries);
    for (std::int64_t j = 0; j < row.n_entries; ++j) {
        double rest = total - square(j);
        if (rest < kNearlyNothing * total) {
            rest = 0.0;
            for (std::int64_t i = 0; i < row.n_entries; ++i) rest += i == j ? 0.0 : square(i);
        }
        lengths[j] = rest > 0.0 ? std::sqrt(rest) : std::numeric_limits<double>::infinity();
    }
    return lengths;
}

/// Decomposes the steps [first, last) of a path.
class Path {
 public:
    Path(const EdgeScore& rule, const PathRow& row, const LabelPaths& paths, std::int64_t first,
         std::int64_t last)
        : rule_(rule), row_(row), paths_(paths), first_(first), last_(last) {}

    /// Writes the entries of `parts` that belong to path i.
    void write(PathParts& parts, const Vector<double>& lengths, std::int64_t i) const {
        double log = 0.0, log_base = 0.0;
        for (std::int64_t s = first_; s < last_; ++s) {
            const double c = discount(s), own = rule_.gain(margin(s)), base = rule_.gain(bias(s));
            log += c * own;
            log_base += c * base;
            parts.step_scores[s] = std::exp(c * own);
            parts.step_bases[s] = std::exp(c * base);
        }
        parts.scores[i] = std::exp(log);
        parts.bases[i] = std::exp(log_base);
        const double mean = logarithmic_mean(log, log_base);
        double* without = parts.without.data() + i * row_.n_entries;
        for (std::int64_t s = first_; s < last_; ++s) {
            write_contributions(parts, s, mean);
            add_without(lengths, s, without);
        }
        for (std::int64_t j = 0; j < row_.n_entries; ++j) without[j] = std::exp(without[j]);
    }

 private:
    const float* weights(std::int64_t s) const {
        return paths_.weights.data() + s * row_.n_entries;
    }

    double bias(std::int64_t s) const { return paths_.bias[s]; }

    double discount(std::int64_t s) const {
        if (s == last_ - 1) return 1.0;
        return rule_.leaf_discount * std::pow(rule_.discount, static_cast<double>(last_ - 2 - s));
    }

    double margin(std::int64_t s) const {
        const float* w = weights(s);
        double sum = 0.0;
        for (std::int64_t j = 0; j < row_.n_entries; ++j) sum += double{w[j]} * row_.units[j];
        return paths_.bias[s] + sum;
    }

    void write_contributions(PathParts& parts, std::int64_t s, double mean) const {
        const double factor = discount(s) * slope(rule_, margin(s), bias(s)) * mean;
        const float* w = weights(s);
        double* own = parts.contributions.data() + s * row_.n_entries;
        for (std::int64_t j = 0; j < row_.n_entries; ++j) {
            own[j] = double{w[j]} * row_.units[j] * factor;
        }
    }

    /// Adds the contribution of a step to the log scores without each entry.
    void add_without(const Vector<double>& lengths, std::int64_t s, double* logs) const {
        const double c = discount(s), bias = paths_.bias[s];
        const float* w = weights(s);
        double sum = 0.0;
        for (std::int64_t j = 0; j < row_.n_entries; ++j) sum += double{w[j]} * row_.values[j];
        for (std::int64_t j = 0; j < row_.n_entries; ++j) {
            const double rest = sum - double{w[j]} * row_.values[j];
            logs[j] += c * rule_.gain(bias + rest / lengths[j]);
        }
    }

    const EdgeScore& rule_;
    const PathRow& row_;
    const LabelPaths& paths_;
    std::int64_t first_, last_;
};

}  // namespace

PathParts explain_paths(const LabelTreeModel& model, const std::int32_t* places,
                        std::int64_t n_places, const PathRow& row, const EdgeScore& rule) {
    LabelPaths paths = label_paths(model, places, n_places, row.features, row.n_entries);
    const std::int64_t n_steps = paths.nodes.size();
    PathParts parts;
    parts.step_scores.assign(n_steps, 0.0);
    parts.step_bases.assign(n_steps, 0.0);
    parts.contributions.assign(checked_product(n_steps, row.n_entries), 0.0);
    parts.scores.assign(n_places, 0.0);
    parts.bases.assign(n_places, 0.0);
    parts.without.assign(checked_product(n_places, row.n_entries), 0.0);
    const Vector<double> lengths = lengths_without(row);
    for (std::int64_t i = 0; i < n_places; ++i) {
        Path(rule, row, paths, paths.step_ptr[i], paths.step_ptr[i + 1]).write(parts, lengths, i);
    }
    parts.step_ptr = std::move(paths.step_ptr);
    parts.nodes = std::move(paths.nodes);
    parts.outputs = std::move(paths.outputs);
    return parts;
}

}  // namespace defrag
