// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/agglomeration.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "core/base/bitset.hpp"
#include "core/base/blocks.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 1024;

/// Per-thread accumulators for one row.
struct Scratch {
    explicit Scratch(std::int64_t n_groups) : sums(n_groups), counts(n_groups), present(n_groups) {}
    Vector<float> sums;
    Vector<std::int32_t> counts;
    OrderedSet present;
};

}  // namespace

Csr agglomerate(const Context& context, const CsrView& matrix, const std::int32_t* groups,
                std::int64_t n_groups, Pooling pooling, const float* scale) {
    context.expect(matrix.n_rows);
    // Sized by the largest group in use, since the declared n_groups may be far larger.
    std::int64_t n_used = n_groups;
    if (n_groups > matrix.n_cols && matrix.n_cols > 0) {
        n_used = *std::max_element(groups, groups + matrix.n_cols) + std::int64_t{1};
        n_used = std::clamp<std::int64_t>(n_used, 0, n_groups);
    }
    PerWorker<Scratch> scratches(context, [=] { return Scratch(n_used); });
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned worker) {
        Scratch& scratch = scratches[worker];
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            const std::int32_t group = groups[matrix.indices[p]];
            if (group < 0) continue;
            if (group >= n_groups) {
                throw std::invalid_argument("feature " + std::to_string(matrix.indices[p]) +
                                            " is in group " + std::to_string(group) +
                                            ", but there are " + std::to_string(n_groups));
            }
            scratch.present.insert(group);
            scratch.sums[group] += matrix.data[p];
            ++scratch.counts[group];
        }
        scratch.present.drain([&](std::int32_t group) {
            float value = scratch.sums[group];
            if (pooling == Pooling::kMeanNonzero) {
                value /= static_cast<float>(scratch.counts[group]);
            }
            if (scale != nullptr) value *= scale[group];
            if (!std::isfinite(value)) {
                throw std::invalid_argument("row " + std::to_string(row) +
                                            ": the features of group " + std::to_string(group) +
                                            " add up to more than a float32 can hold");
            }
            block.push(group, value);
            scratch.sums[group] = 0.0F;
            scratch.counts[group] = 0;
        });
    };
    return build_rows(context, matrix.n_rows, n_groups, kRowsPerBlock, fill);
}

ColumnStatistics group_statistics(const Context& context, const CsrView& matrix,
                                  const std::int32_t* groups, std::int64_t n_groups,
                                  Pooling pooling) {
    ColumnStatistics statistics{Vector<std::int64_t>(n_groups), Vector<double>(n_groups)};
    Vector<float> sums(n_groups);
    Vector<std::int32_t> n_members(n_groups);
    Vector<std::int32_t> present;
    for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
        double squared = 0.0;
        present.clear();
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            const double value = matrix.data[p];
            squared += value * value;
            const std::int32_t group = groups[matrix.indices[p]];
            if (group < 0) continue;
            if (n_members[group]++ == 0) present.push_back(group);
            sums[group] += matrix.data[p];
        }
        for (const std::int32_t group : present) {
            double value = sums[group];
            if (pooling == Pooling::kMeanNonzero) value /= n_members[group];
            statistics.counts[group] += value != 0.0;
            statistics.energy[group] += value * value / squared;
            sums[group] = 0.0F;
            n_members[group] = 0;
        }
        if (row % kRowsPerBlock == 0) context.check();
    }
    return statistics;
}

}  // namespace defrag
