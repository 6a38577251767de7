// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/tight.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/random.hpp"
#include "core/base/sums.hpp"

namespace defrag {

namespace {

constexpr std::int64_t kSamples = 5;
constexpr std::int64_t kSketch = 32;  // entries of a column by which it is judged first
constexpr std::int64_t kLatest = 64;  // leaders of a sample, which are about as strong
constexpr std::int64_t kTried = 4;
constexpr std::int64_t kLikely = 4;  // one of so many samples must be shared
constexpr int kRounds = 2;
constexpr std::int64_t kRowsPerBlock = 256;
constexpr std::int32_t kNone = -1;
constexpr int kBits = 62;  // of a sum over all rows, in fixed point

/// The entries of the columns, on unit rows, that come first in a random order of rows: row j of
/// `columns` has the entries of column j by the places of their rows. Two columns are compared in
/// the rows up to the place where either of them is cut.
struct Sketches {
    Csr columns;
    const Vector<std::int64_t>& counts;

    Sketches(const Context& context, const CsrView& matrix, const Vector<std::int64_t>& all,
             std::uint64_t seed)
        : counts(all) {
        Vector<std::int32_t> rows(matrix.n_rows);
        std::iota(rows.begin(), rows.end(), 0);
        Stream(seed, Stage::kTight, 0).shuffle(rows.begin(), matrix.n_rows);
        columns.n_cols = matrix.n_rows;
        columns.indptr.resize(matrix.n_cols + 1);
        for (std::int64_t j = 0; j < matrix.n_cols; ++j) {
            columns.indptr[j + 1] = columns.indptr[j] + std::min(counts[j], kSketch);
        }
        columns.indices.resize_for_overwrite(columns.indptr.back());
        columns.data.resize_for_overwrite(columns.indptr.back());
        Vector<std::int64_t> next(columns.indptr.begin(), columns.indptr.end() - 1);
        for (std::int64_t place = 0; place < matrix.n_rows; ++place) {
            const std::int32_t row = rows[place];
            const double length = std::sqrt(squared_length(matrix, row));
            for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
                const std::int32_t column = matrix.indices[p];
                if (next[column] == columns.indptr[column + 1]) continue;
                columns.indices[next[column]] = static_cast<std::int32_t>(place);
                columns.data[next[column]++] =
                    static_cast<float>(static_cast<double>(matrix.data[p]) / length);
            }
            if (place % kRowsPerBlock == 0) context.check();
        }
    }

    std::int64_t begin(std::int64_t column) const { return columns.indptr[column]; }
    std::int64_t end(std::int64_t column) const { return columns.indptr[column + 1]; }
    /// The place up to which all entries of a column are known.
    std::int64_t known(std::int64_t column) const {
        return counts[column] <= kSketch ? columns.n_cols : columns.indices[end(column) - 1] + 1;
    }

    /// Returns the cosine of two columns, as far as both are known.
    double cosine(std::int64_t a, std::int64_t b) const {
        const auto limit = static_cast<std::int32_t>(std::min(known(a), known(b)));
        double product = 0.0;
        double squared_a = 0.0;
        double squared_b = 0.0;
        std::int64_t p = begin(a);
        std::int64_t q = begin(b);
        const auto value = [this](std::int64_t at) {
            return static_cast<double>(columns.data[at]);
        };
        while (true) {
            const std::int32_t left = p < end(a) ? columns.indices[p] : limit;
            const std::int32_t right = q < end(b) ? columns.indices[q] : limit;
            if (std::min(left, right) >= limit) break;
            if (left == right) product += value(p) * value(q);
            if (left <= right) squared_a += value(p) * value(p);
            if (right <= left) squared_b += value(q) * value(q);
            p += left <= right;
            q += right <= left;
        }
        return product / std::sqrt(squared_a * squared_b);
    }
};

/// Columns that lead, by the rows that are their samples.
class Leaders {
 public:
    Leaders(const Sketches& sketches, const Vector<std::int32_t>& place)
        : sketches_(sketches),
          place_(place),
          with_(sketches.columns.n_cols),
          shared_(place.size()) {}

    void add(std::int32_t column) {
        for (std::int64_t p = begin(column); p < end(column); ++p) with_[row(p)].push_back(column);
    }

    /// Returns the leader that a column should follow, or kNone; not that which has `refused` it.
    std::int32_t likeliest(std::int32_t column, std::int32_t refused, double min_cosine) {
        found_.clear();
        for (std::int64_t p = begin(column); p < end(column); ++p) {
            const Vector<std::int32_t>& known = with_[row(p)];
            for (std::int64_t i = std::max(known.size() - kLatest, std::int64_t{0});
                 i < known.size(); ++i) {
                if (shared_[known[i]]++ == 0) found_.push_back(known[i]);
            }
        }
        likely_.clear();
        for (const std::int32_t leader : found_) {
            const std::int64_t n_shared = std::exchange(shared_[leader], std::uint8_t{0});
            if (kLikely * n_shared < end(column) - begin(column)) continue;
            if (leader == refused || place_[leader] > place_[column]) continue;
            const std::int64_t longer = sketches_.counts[leader] - sketches_.counts[column];
            likely_.push_back({-n_shared, std::abs(longer), leader});
        }
        const auto n_tried = std::min(likely_.size(), kTried);
        std::partial_sort(likely_.begin(), likely_.begin() + n_tried, likely_.end());
        for (std::int64_t i = 0; i < n_tried; ++i) {
            const std::int32_t leader = std::get<2>(likely_[i]);
            if (sketches_.cosine(column, leader) >= min_cosine) return leader;
        }
        return kNone;
    }

 private:
    std::int64_t begin(std::int64_t column) const { return sketches_.begin(column); }
    std::int64_t end(std::int64_t column) const {
        return std::min(sketches_.begin(column) + kSamples, sketches_.end(column));
    }
    std::int32_t row(std::int64_t p) const { return sketches_.columns.indices[p]; }

    const Sketches& sketches_;
    const Vector<std::int32_t>& place_;
    Vector<Vector<std::int32_t>> with_;  // the leaders that have a row as a sample
    Vector<std::uint8_t> shared_;        // samples that a leader shares with the column at hand
    Vector<std::int32_t> found_;
    // Leaders to compare with: those with the most shared samples, then the most similar length.
    Vector<std::tuple<std::int64_t, std::int64_t, std::int32_t>> likely_;
};

/// Returns the products of columns and those that they apply to, on unit rows, in fixed point.
Sums products(const Context& context, const CsrView& matrix, const Vector<std::int32_t>& applied,
              double unit) {
    PerWorkerSums sums(context, matrix.n_cols);
    PerWorker<Vector<float>> values(context, [&] { return Vector<float>(matrix.n_cols); });
    for_each(context, matrix.n_rows, kRowsPerBlock, [&](std::int64_t row, unsigned worker) {
        Sums& own = sums[worker];
        Vector<float>& value = values[worker];
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            value[matrix.indices[p]] = matrix.data[p];
        }
        const double weight = unit / squared_length(matrix, row);
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            const std::int32_t leader = applied[matrix.indices[p]];
            if (leader == kNone) continue;
            own[matrix.indices[p]] += static_cast<std::int64_t>(
                weight * static_cast<double>(matrix.data[p]) * static_cast<double>(value[leader]));
        }
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            value[matrix.indices[p]] = 0.0F;
        }
    });
    return sums.add_up();
}

}  // namespace

Vector<std::int32_t> tight_leaders(const Context& context, const CsrView& matrix,
                                   const ColumnStatistics& statistics, double min_cosine,
                                   std::uint64_t seed) {
    context.expect(kRounds * matrix.n_rows);
    const std::int64_t n = matrix.n_cols;
    const Vector<double>& energy = statistics.energy;
    Vector<std::int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return energy[a] > energy[b]; });
    Vector<std::int32_t> place(n);
    for (std::int64_t i = 0; i < n; ++i) place[order[i]] = static_cast<std::int32_t>(i);
    const Sketches sketches(context, matrix, statistics.counts, seed);
    Leaders leaders(sketches, place);
    Vector<std::int32_t> leader_of(n, kNone);
    Vector<std::int32_t> applied(n, kNone);
    const double unit = std::ldexp(1.0, kBits - std::ilogb(static_cast<double>(matrix.n_rows + 1)));
    for (int round = 0; round < kRounds; ++round) {
        bool any = false;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int32_t column = order[i];
            if (leader_of[column] != kNone) {
                applied[column] = kNone;
                continue;
            }
            applied[column] = leaders.likeliest(column, applied[column], min_cosine);
            any |= applied[column] != kNone;
            if (applied[column] == kNone) {
                leader_of[column] = column;
                leaders.add(column);
            }
        }
        if (!any) break;
        const Sums found = products(context, matrix, applied, unit);
        for (std::int64_t column = 0; column < n; ++column) {
            const std::int32_t leader = applied[column];
            if (leader == kNone) continue;
            const double least = min_cosine * std::sqrt(energy[column] * energy[leader]);
            if (static_cast<double>(found[column]) >= least * unit) leader_of[column] = leader;
        }
    }
    for (std::int64_t column = 0; column < n; ++column) {
        if (leader_of[column] == kNone) leader_of[column] = static_cast<std::int32_t>(column);
    }
    return leader_of;
}

}  // namespace defrag
