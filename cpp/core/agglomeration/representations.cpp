// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/representations.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/base/bitset.hpp"
#include "core/base/blocks.hpp"
#include "core/base/ranking.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 1024;
// Features are divided into a few ranges; the thread of a range scans all rows.
constexpr std::int64_t kFeatureRanges = 16;

/// Calls visit(p) for the entries of a row whose column is in [low, high).
template <class Visit>
void visit_range(const CsrView& matrix, std::int64_t row, std::int64_t low, std::int64_t high,
                 Visit visit) {
    const std::int32_t* begin = matrix.indices + matrix.begin(row);
    const std::int32_t* end = matrix.indices + matrix.end(row);
    if (low > 0) begin = std::lower_bound(begin, end, static_cast<std::int32_t>(low));
    for (; begin != end && *begin < high; ++begin) visit(begin - matrix.indices);
}

/// Runs body(low, high) over ranges of columns.
void over_columns(const Context& context, std::int64_t n_cols,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
    const std::int64_t grain = context.n_threads() == 1 ? n_cols : n_cols / kFeatureRanges + 1;
    parallel_for(context, n_cols, grain,
                 [&](std::int64_t low, std::int64_t high, unsigned) { body(low, high); });
}

// With more columns than this, and than this many per entry, unused columns cost too much.
constexpr std::int64_t kFewColumns = std::int64_t{1} << 22;
constexpr std::int64_t kColumnsPerEntry = 16;

/// A matrix without its unused columns, and the original numbers of the remaining ones.
struct UsedColumns {
    explicit UsedColumns(const CsrView& matrix)
        : columns(matrix.indices, matrix.indices + matrix.nnz()),
          indices(matrix.indices, matrix.indices + matrix.nnz()) {
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        for (std::int32_t& index : indices) {
            const auto place = std::lower_bound(columns.begin(), columns.end(), index);
            index = static_cast<std::int32_t>(place - columns.begin());
        }
        view = {matrix.n_rows, columns.size(), matrix.indptr, indices.data(), matrix.data};
    }

    Vector<std::int32_t> columns;
    Vector<std::int32_t> indices;
    CsrView view;
};

double ideal_dcg(const CsrView& matrix, std::int64_t row, Vector<float>& sorted) {
    sorted.assign(matrix.data + matrix.begin(row), matrix.data + matrix.end(row));
    std::sort(sorted.begin(), sorted.end(), std::greater<float>());
    double sum = 0.0;
    for (std::int64_t i = 0; i < sorted.size(); ++i) {
        sum += static_cast<double>(sorted[i]) / std::log2(2.0 + static_cast<double>(i));
    }
    return sum;
}

}  // namespace

ColumnStatistics column_statistics(const Context& context, const CsrView& matrix) {
    Vector<double> weight(matrix.n_rows);
    for_each(context, matrix.n_rows, kRowsPerBlock, [&](std::int64_t row, unsigned) {
        const double squared = squared_length(matrix, row);
        weight[row] = squared > 0.0 ? 1.0 / squared : 0.0;
    });
    ColumnStatistics statistics;
    statistics.counts.resize(matrix.n_cols);
    statistics.energy.resize(matrix.n_cols);
    over_columns(context, matrix.n_cols, [&](std::int64_t low, std::int64_t high) {
        for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
            visit_range(matrix, row, low, high, [&](std::int64_t p) {
                const auto column = matrix.indices[p];
                const double value = matrix.data[p];
                ++statistics.counts[column];
                statistics.energy[column] += value * value * weight[row];
            });
            if (row % kRowsPerBlock == 0) context.check();
        }
    });
    return statistics;
}

Vector<float> row_norms(const Context& context, const CsrView& matrix, Norm norm) {
    Vector<float> norms(matrix.n_rows);
    for_each(context, matrix.n_rows, kRowsPerBlock, [&](std::int64_t row, unsigned) {
        double sum = 0.0;
        if (norm == Norm::kL2) {
            sum = std::sqrt(squared_length(matrix, row));
        } else {
            for (auto p = matrix.begin(row); p < matrix.end(row); ++p) {
                sum += std::fabs(static_cast<double>(matrix.data[p]));
            }
        }
        norms[row] = static_cast<float>(sum);
    });
    return norms;
}

Csr feature_rows(const Context& context, const CsrView& matrix, const std::int32_t* coordinate,
                 std::int64_t n_coords, const bool* wanted, const float* row_scale) {
    const auto visit_kept = [&](std::int64_t low, std::int64_t high, auto visit) {
        for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
            if (row % kRowsPerBlock == 0) context.check();
            if (coordinate[row] < 0) continue;
            visit_range(matrix, row, low, high, [&](std::int64_t p) {
                if (wanted[matrix.indices[p]]) visit(row, p);
            });
        }
    };
    Csr result;
    result.n_cols = n_coords;
    result.indptr.assign(matrix.n_cols + 1, 0);
    over_columns(context, matrix.n_cols, [&](std::int64_t low, std::int64_t high) {
        visit_kept(low, high,
                   [&](std::int64_t, std::int64_t p) { ++result.indptr[matrix.indices[p] + 1]; });
    });
    for (std::int64_t j = 1; j < result.indptr.size(); ++j)
        result.indptr[j] += result.indptr[j - 1];
    result.indices.resize(result.indptr.back());
    result.data.resize(result.indptr.back());
    Vector<std::int64_t> next(result.indptr.begin(), result.indptr.end() - 1);
    over_columns(context, matrix.n_cols, [&](std::int64_t low, std::int64_t high) {
        visit_kept(low, high, [&](std::int64_t row, std::int64_t p) {
            const auto slot = next[matrix.indices[p]]++;
            result.indices[slot] = coordinate[row];
            result.data[slot] =
                row_scale == nullptr ? matrix.data[p] : matrix.data[p] * row_scale[row];
        });
    });
    return result;
}

Csr multiply(const Context& context, const CsrView& left, const CsrView& right,
             std::int64_t max_entries) {
    if (right.n_cols > std::max(kFewColumns, kColumnsPerEntry * right.nnz())) {
        const UsedColumns used(right);
        Csr result = multiply(context, left, used.view, max_entries);
        result.n_cols = right.n_cols;
        for (std::int32_t& index : result.indices) index = used.columns[index];
        return result;
    }
    struct Scratch {
        explicit Scratch(std::int64_t n) : sums(n), present(n) {}
        Vector<float> sums;
        OrderedSet present;
        Vector<RowEntry> row;
    };
    context.expect(left.n_rows);
    PerWorker<Scratch> scratches(context, [&] { return Scratch(right.n_cols); });
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned worker) {
        Scratch& scratch = scratches[worker];
        for (std::int64_t p = left.begin(row); p < left.end(row); ++p) {
            const std::int64_t middle = left.indices[p];
            for (std::int64_t q = right.begin(middle); q < right.end(middle); ++q) {
                scratch.present.insert(right.indices[q]);
                scratch.sums[right.indices[q]] += left.data[p] * right.data[q];
            }
        }
        scratch.row.clear();
        scratch.present.drain([&](std::int32_t column) {
            scratch.row.push_back({column, scratch.sums[column]});
            scratch.sums[column] = 0.0F;
        });
        if (max_entries > 0) keep_largest(scratch.row, max_entries);
        for (const RowEntry& entry : scratch.row) block.push(entry.column, entry.value);
    };
    return build_rows(context, left.n_rows, right.n_cols, 64, fill);
}

Csr scale_rows(const Context& context, const CsrView& matrix, RowScale rule, float threshold) {
    PerWorker<Vector<float>> scratches(context, [] { return Vector<float>(); });
    Vector<double> scale(matrix.n_rows);
    Csr result;
    result.n_cols = matrix.n_cols;
    result.indptr.resize(matrix.n_rows + 1);
    const auto scaled = [&](std::int64_t row, std::int64_t p) {
        return static_cast<float>(static_cast<double>(matrix.data[p]) / scale[row]);
    };
    for_each(context, matrix.n_rows, kRowsPerBlock, [&](std::int64_t row, unsigned worker) {
        scale[row] = rule == RowScale::kUnit ? std::sqrt(squared_length(matrix, row))
                                             : ideal_dcg(matrix, row, scratches[worker]);
        if (scale[row] <= 0.0) return;
        std::int64_t n_kept = 0;
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            n_kept += std::fabs(scaled(row, p)) > threshold ? 1 : 0;
        }
        result.indptr[row + 1] = n_kept;
    });
    std::partial_sum(result.indptr.begin(), result.indptr.end(), result.indptr.begin());
    result.indices.resize_for_overwrite(result.indptr.back());
    result.data.resize_for_overwrite(result.indptr.back());
    for_each(context, matrix.n_rows, kRowsPerBlock, [&](std::int64_t row, unsigned) {
        std::int64_t to = result.indptr[row];
        if (to == result.indptr[row + 1]) return;
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            const float value = scaled(row, p);
            if (!(std::fabs(value) > threshold)) continue;
            result.indices[to] = matrix.indices[p];
            result.data[to++] = value;
        }
    });
    return result;
}

Csr fill_empty_rows(const Context& context, const CsrView& first, const CsrView& second,
                    std::int64_t shift) {
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned) {
        const bool empty = first.begin(row) == first.end(row);
        const CsrView& source = empty ? second : first;
        const auto moved = static_cast<std::int32_t>(empty ? shift : 0);
        for (std::int64_t p = source.begin(row); p < source.end(row); ++p) {
            block.push(source.indices[p] + moved, source.data[p]);
        }
    };
    const std::int64_t n_cols = std::max(first.n_cols, second.n_cols + shift);
    return build_rows(context, first.n_rows, n_cols, kRowsPerBlock, fill);
}

}  // namespace defrag
