// SPDX-License-Identifier: BSD-3-Clause
#include "core/focusing/focusing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

namespace defrag {

Vector<float> feature_importance(const Context& context, const CsrView& X, const CsrView& Y,
                                 const std::int32_t* groups, const std::int64_t* points,
                                 std::int64_t n_points, const SolverOptions& options,
                                 Storage* storage) {
    CompactRows rows(storage);
    RowLayout layout;
    const auto point_of = [&](std::int64_t i) { return points == nullptr ? i : points[i]; };
    layout.deal(X, n_points, point_of, options.run_entries, Stream(options.seed, Stage::kPilot, 0));
    rows.assign_unit_rows(context, X, points, n_points, options.bias, layout);
    BlockSolver solver(storage);
    solver.start(rows, kLanes);
    for (std::int64_t i = 0; i < n_points; ++i) {
        for (std::int64_t p = Y.begin(point_of(i)); p < Y.end(point_of(i)); ++p) {
            solver.mark(groups[Y.indices[p]], layout.place_of_row[point_of(i)]);
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

namespace {

constexpr std::int64_t kRowsPerBlock = 256;

std::int64_t entries_kept(std::int64_t n_entries, double budget) {
    if (budget <= 0.0) return n_entries;
    const double wanted = std::ceil(budget * std::sqrt(static_cast<double>(n_entries)));
    return wanted < static_cast<double>(n_entries) ? static_cast<std::int64_t>(wanted) : n_entries;
}

/// The entries of a row to keep: those above the threshold, and the first few equal to it.
struct Selection {
    float threshold;
    std::int64_t n_equal;
};

/// Finds the n-th largest key of a row. Keys are counted by their exponent and two more bits, since
/// non-negative floats are ordered like their bits; only the keys in the bucket of the n-th are
/// partitioned. Several times faster than partitioning all keys.
class Selector {
 public:
    Vector<float> keys;

    Selection select(std::int64_t n_kept) {
        std::uint32_t low = kPlaces - 1;
        std::uint32_t high = 0;
        for (const float key : keys) {
            const std::uint32_t at = place(key);
            ++counts_[at];
            low = std::min(low, at);
            high = std::max(high, at);
        }
        std::int64_t n_above = 0;
        std::uint32_t chosen = high;
        while (chosen > low && n_above + counts_[chosen] < n_kept) n_above += counts_[chosen--];
        std::fill(counts_.begin() + low, counts_.begin() + high + 1, 0);
        candidates_.clear();
        for (const float key : keys) {
            if (place(key) == chosen) candidates_.push_back(key);
        }
        const std::int64_t wanted = n_kept - n_above;
        const auto last = candidates_.begin() + (wanted - 1);
        std::nth_element(candidates_.begin(), last, candidates_.end(), std::greater<>());
        const float threshold = *last;
        const auto larger =
            std::count_if(candidates_.begin(), last, [&](float key) { return key > threshold; });
        return {threshold, wanted - larger};
    }

 private:
    static constexpr int kShift = 21;
    static constexpr std::uint32_t kPlaces = 1U << (31 - kShift);

    static std::uint32_t place(float key) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &key, sizeof bits);
        return (bits & 0x7FFFFFFFU) >> kShift;
    }

    std::array<std::int64_t, kPlaces> counts_{};
    Vector<float> candidates_;
};

}  // namespace

Csr focus_rows(const Context& context, const CsrView& matrix, const float* importance,
               const float* factor, double budget) {
    context.expect(matrix.n_rows);
    Csr result;
    result.n_cols = matrix.n_cols;
    result.indptr.resize(matrix.n_rows + 1);
    for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
        const std::int64_t size = matrix.end(row) - matrix.begin(row);
        result.indptr[row + 1] = result.indptr[row] + entries_kept(size, budget);
    }
    result.indices.resize_for_overwrite(result.indptr.back());
    result.data.resize_for_overwrite(result.indptr.back());
    PerWorker<Selector> selectors(context, [] { return Selector(); });
    const auto keep = [&](std::int64_t row, std::int64_t p, std::int64_t to) {
        const float value = matrix.data[p] * factor[matrix.indices[p]];
        if (!std::isfinite(value)) {
            throw std::invalid_argument("row " + std::to_string(row) + ": feature " +
                                        std::to_string(matrix.indices[p]) +
                                        " times its factor is more than a float32 can hold");
        }
        result.indices[to] = matrix.indices[p];
        result.data[to] = value;
    };
    const auto focus = [&](std::int64_t row, Selector& selector) {
        const std::int64_t begin = matrix.begin(row);
        const std::int64_t size = matrix.end(row) - begin;
        std::int64_t to = result.indptr[row];
        const std::int64_t n_kept = result.indptr[row + 1] - to;
        if (n_kept == size) {
            for (std::int64_t p = 0; p < size; ++p) keep(row, begin + p, to + p);
            return;
        }
        selector.keys.resize(size);
        for (std::int64_t p = 0; p < size; ++p) {
            selector.keys[p] =
                std::abs(matrix.data[begin + p]) * importance[matrix.indices[begin + p]];
        }
        Selection kept = selector.select(n_kept);
        for (std::int64_t p = 0; p < size; ++p) {
            const float key = selector.keys[p];
            if (key < kept.threshold || (key == kept.threshold && kept.n_equal-- <= 0)) continue;
            if (to == result.indptr[row + 1]) break;  // NaN keys equal nothing
            keep(row, begin + p, to++);
        }
    };
    for_each(context, matrix.n_rows, kRowsPerBlock,
             [&](std::int64_t row, unsigned worker) { focus(row, selectors[worker]); });
    return result;
}

}  // namespace defrag
