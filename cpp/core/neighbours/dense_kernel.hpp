// SPDX-License-Identifier: BSD-3-Clause
// Included once per instruction set by kernel_versions.hpp, hence no include guard.

namespace defrag {
namespace DEFRAG_KERNEL {

// may_alias: other code accesses the same memory as plain float; aligned(4): rows may start
// anywhere.
typedef float Floats __attribute__((vector_size(DEFRAG_VECTOR_BYTES), may_alias, aligned(4)));

constexpr int kWidth = DEFRAG_VECTOR_BYTES / 4;
constexpr int kParts = static_cast<int>(kPanelRows) / kWidth;

DEFRAG_INLINE Floats load(const float* memory) { return *reinterpret_cast<const Floats*>(memory); }
DEFRAG_INLINE void store(float* memory, Floats value) {
    *reinterpret_cast<Floats*>(memory) = value;
}

/// Accumulates kVectors vectors of columns in registers.
template <int kVectors>
DEFRAG_INLINE void add_columns(const std::int32_t* indices, const float* values,
                               std::int64_t n_entries, const float* rows, std::int64_t stride,
                               float* out) {
    Floats sums[static_cast<std::size_t>(kVectors)] = {};
    for (std::int64_t e = 0; e < n_entries; ++e) {
        const float* line = rows + indices[e] * stride;
        for (int v = 0; v < kVectors; ++v) sums[v] += load(line + v * kWidth) * values[e];
    }
    for (int v = 0; v < kVectors; ++v) store(out + v * kWidth, sums[v]);
}

static void add_lines(const std::int32_t* indices, const float* values, std::int64_t n_entries,
                      const float* rows, std::int64_t stride, std::int64_t n_cols, float* out) {
    std::int64_t j = 0;
    for (; j + 4 * kWidth <= n_cols; j += 4 * kWidth) {
        add_columns<4>(indices, values, n_entries, rows + j, stride, out + j);
    }
    for (; j + kWidth <= n_cols; j += kWidth) {
        add_columns<1>(indices, values, n_entries, rows + j, stride, out + j);
    }
    if (j == n_cols) return;
    float sums[kWidth] = {};
    const std::int64_t rest = n_cols - j;
    for (std::int64_t e = 0; e < n_entries; ++e) {
        const float* line = rows + indices[e] * stride + j;
        for (std::int64_t i = 0; i < rest; ++i) sums[i] += line[i] * values[e];
    }
    for (std::int64_t i = 0; i < rest; ++i) out[j + i] = sums[i];
}

static float dot_rows(const float* left, const float* right, std::int64_t n_cols) {
    Floats partial[kParts] = {};
    std::int64_t j = 0;
    for (; j + kPanelRows <= n_cols; j += kPanelRows) {
        for (int p = 0; p < kParts; ++p) {
            partial[p] += load(left + j + p * kWidth) * load(right + j + p * kWidth);
        }
    }
    float sums[kPanelRows];
    for (int p = 0; p < kParts; ++p) store(sums + p * kWidth, partial[p]);
    for (std::int64_t i = 0; j + i < n_cols; ++i) sums[i] += left[j + i] * right[j + i];
    for (std::int64_t half = kPanelRows / 2; half > 0; half /= 2) {
        for (std::int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
}

/// Compares kQueries queries with one vector of a panel's rows.
template <int kQueries>
DEFRAG_INLINE void score_vector(const float* queries, std::int64_t n_cols, const float* panel,
                                const float* start, float* scores) {
    Floats sums[static_cast<std::size_t>(kQueries)];
    for (int q = 0; q < kQueries; ++q) sums[q] = load(start);
    for (std::int64_t j = 0; j < n_cols; ++j) {
        const Floats line = load(panel + j * kPanelRows);
        for (int q = 0; q < kQueries; ++q) sums[q] += line * queries[q * n_cols + j];
    }
    for (int q = 0; q < kQueries; ++q) store(scores + q * kPanelRows, sums[q]);
}

static void score_panel(const float* queries, std::int64_t n_queries, std::int64_t n_cols,
                        const float* panel, const float* start, float* scores) {
    for (int p = 0; p < kParts; ++p) {
        const int shift = p * kWidth;
        if (n_queries == kQueriesAtOnce) {
            score_vector<kQueriesAtOnce>(queries, n_cols, panel + shift, start + shift,
                                         scores + shift);
            continue;
        }
        for (std::int64_t q = 0; q < n_queries; ++q) {
            score_vector<1>(queries + q * n_cols, n_cols, panel + shift, start + shift,
                            scores + q * kPanelRows + shift);
        }
    }
}

}  // namespace DEFRAG_KERNEL
}  // namespace defrag
