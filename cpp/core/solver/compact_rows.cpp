// SPDX-License-Identifier: BSD-3-Clause
#include "core/solver/compact_rows.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/base/sums.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 4096;
constexpr std::int64_t kLineBytes = kLanes * static_cast<std::int64_t>(sizeof(float));

}  // namespace

void CompactRows::check_width(const CsrView& X) {
    if (X.n_cols < std::numeric_limits<std::uint32_t>::max() / kLineBytes) return;
    throw std::invalid_argument("the solvers take fewer than 2^26 features, got " +
                                std::to_string(X.n_cols));
}

void CompactRows::start_runs(std::int64_t n_rows, const RowLayout& layout) {
    starts_.assign(n_rows + 1, 0);
    runs_ = layout.runs;
    if (runs_.size() == 0) runs_ = {0, n_rows};
}

void CompactRows::assign(const CsrView& X, const std::int32_t* rows, std::int64_t n_rows,
                         float bias, Vector<std::int32_t>& slots, const RowLayout& layout) {
    check_width(X);
    n_rows_ = n_rows;
    bias_ = bias;
    weights_.resize(0);
    start_runs(n_rows, layout);
    norms_.resize_for_overwrite(n_rows);
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const std::int64_t row = rows == nullptr ? i : rows[i];
        starts_[layout.place(i, row) + 1] = RowLayout::size_of_row(X.end(row) - X.begin(row));
    }
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    entries_.require(starts_.back());
    features_.assign(1, -1);
    std::int64_t n_slots = 1;
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const std::int64_t row = rows == nullptr ? i : rows[i];
        const std::int64_t r = layout.place(i, row);
        Entry* out = entries_.data() + starts_[r];
        *out++ = {0, bias};
        const std::int64_t most_slots = n_slots + X.end(row) - X.begin(row) + 1;
        if (features_.size() < most_slots) features_.resize(2 * most_slots);
        double norm = static_cast<double>(bias) * static_cast<double>(bias);
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) {
            // Branch-free: the next slot is always prepared, but kept only for a new feature.
            std::int32_t& slot = slots[X.indices[p]];
            features_[n_slots] = X.indices[p];
            const bool is_new = slot == 0;
            slot = is_new ? static_cast<std::int32_t>(n_slots) : slot;
            n_slots += is_new ? 1 : 0;
            const auto value = static_cast<double>(X.data[p]);
            norm += value * value;
            *out++ = {static_cast<std::uint32_t>(slot * kLineBytes), X.data[p]};
        }
        norms_[r] = static_cast<float>(norm);
        const Entry* end = entries_.data() + starts_[r + 1];
        while (out != end) *out++ = {0, 0.0F};
    }
    features_.resize(n_slots);
    for (std::int64_t s = 1; s < n_slots; ++s) slots[features_[s]] = 0;
}

void CompactRows::weigh(const float* weights, const std::int32_t* rows, const RowLayout& layout) {
    weights_.resize(weights == nullptr ? 0 : n_rows_);
    for (std::int64_t i = 0; i < weights_.size(); ++i) {
        const std::int64_t row = rows == nullptr ? i : rows[i];
        weights_[layout.place(i, row)] = weights[row];
    }
}

void CompactRows::assign_unit_rows(const Context& context, const CsrView& X,
                                   const std::int64_t* rows, std::int64_t n_rows, float bias,
                                   const RowLayout& layout) {
    check_width(X);
    n_rows_ = n_rows;
    bias_ = bias;
    start_runs(n_rows, layout);
    norms_.resize(n_rows);
    const auto over_rows = [&](auto body) {
        parallel_for(context, n_rows, kRowsPerBlock,
                     [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                         for (std::int64_t i = begin; i < end; ++i) {
                             const std::int64_t row = rows == nullptr ? i : rows[i];
                             body(layout.place(i, row), row, worker);
                         }
                     });
    };
    PerWorkerSums counts(context, X.n_cols);
    over_rows([&](std::int64_t r, std::int64_t row, unsigned worker) {
        Sums& own = counts[worker];
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) ++own[X.indices[p]];
        starts_[r + 1] = RowLayout::size_of_row(X.end(row) - X.begin(row));
    });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    entries_.require(starts_.back());
    const Sums totals = counts.add_up();
    const Numbering slots = number_by_frequency(totals);
    features_.assign(slots.n_occurring + 1, -1);
    for (std::int64_t f = 0; f < X.n_cols; ++f) {
        if (totals[f] > 0) features_[slots.number[f] + 1] = static_cast<std::int32_t>(f);
    }
    over_rows([&](std::int64_t r, std::int64_t row, unsigned) {
        const double length = std::sqrt(squared_length(X, row));
        const double divisor = length > 0.0 ? length : 1.0;
        double norm = static_cast<double>(bias) * static_cast<double>(bias);
        Entry* out = entries_.data() + starts_[r];
        *out++ = {0, bias};
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) {
            const std::int32_t slot = slots.number[X.indices[p]] + 1;
            const auto value = static_cast<float>(static_cast<double>(X.data[p]) / divisor);
            norm += static_cast<double>(value) * static_cast<double>(value);
            *out++ = {static_cast<std::uint32_t>(slot * kLineBytes), value};
        }
        norms_[r] = static_cast<float>(norm);
        const Entry* end = entries_.data() + starts_[r + 1];
        while (out != end) *out++ = {0, 0.0F};
    });
}

}  // namespace defrag
