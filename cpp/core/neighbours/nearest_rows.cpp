// SPDX-License-Identifier: BSD-3-Clause
#include "core/neighbours/nearest_rows.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/ranking.hpp"

namespace defrag {
namespace {

// Number of queries that a thread compares with all rows, and bytes of rows that stay in the cache
// meanwhile.
constexpr std::int64_t kQueryGrain = 64;
constexpr std::int64_t kPanelBytes = std::int64_t{1} << 18;
constexpr std::int64_t kVoteGrain = 64;
// Spare capacity for candidates: per query beyond n_best, and in total for the queries of a block.
constexpr std::int64_t kSpare = 32;
constexpr std::int64_t kRoom = std::int64_t{1} << 18;

/// Keeps the n_best best candidates in a buffer of about twice that size: most candidates are
/// rejected by one comparison, and the buffer is pruned whenever it is full.
class TopBuffer {
 public:
    TopBuffer(std::int64_t n_best, std::int64_t capacity) : n_best_(n_best), capacity_(capacity) {
        items_.reserve(capacity);
    }

    /// Returns whether a score can still be among the best; ids are offered in ascending order, so
    /// ties go to the earlier one.
    bool admits(float score) const { return !bounded_ || score > bound_; }

    void offer(float score, std::int32_t id) {
        // NaN cannot be ordered.
        if (!admits(score) || std::isnan(score)) return;
        items_.push_back({score, id});
        if (items_.size() == capacity_) shrink();
    }

    /// Returns the best candidates in order.
    const Vector<Scored>& finish() {
        top_n(items_, n_best_, better);
        std::sort(items_.begin(), items_.end(), better);
        return items_;
    }

 private:
    void shrink() {
        top_n(items_, n_best_, better);
        bound_ = std::max_element(items_.begin(), items_.end(), better)->score;
        bounded_ = true;
    }

    Vector<Scored> items_;
    std::int64_t n_best_;
    std::int64_t capacity_;
    float bound_ = 0.0F;
    bool bounded_ = false;
};

/// Copies the results and pads the rest of the line.
void write_line(const Vector<Scored>& found, std::int64_t width, std::int32_t* ids, float* scores) {
    for (std::int64_t i = 0; i < width; ++i) {
        ids[i] = i < found.size() ? found[i].id : -1;
        scores[i] = i < found.size() ? found[i].score : 0.0F;
    }
}

/// Compares queries with all rows.
class Comparison {
 public:
    Comparison(const Context& context, const DenseView& queries, const RowPanels& rows,
               std::int64_t n_best, ScorePanel score_panel)
        : context_(context),
          queries_(queries),
          rows_(rows),
          n_best_(std::min(n_best, rows.n_rows)),
          // A capacity of n_rows + 1 is never exhausted.
          capacity_(std::min(2 * n_best_ + kSpare, rows.n_rows + 1)),
          score_panel_(score_panel) {
        const std::int64_t bytes =
            rows.n_cols * kPanelRows * static_cast<std::int64_t>(sizeof(float));
        panels_at_once_ = std::max<std::int64_t>(1, kPanelBytes / std::max<std::int64_t>(1, bytes));
    }

    /// Number of queries that a thread processes at a time: fewer if many neighbours are requested.
    std::int64_t grain() const {
        const std::int64_t fitting = kRoom / std::max<std::int64_t>(1, capacity_);
        return std::clamp(fitting / kQueriesAtOnce * kQueriesAtOnce, kQueriesAtOnce, kQueryGrain);
    }

    void run(std::int64_t first, std::int64_t last, std::int64_t width, std::int32_t* ids,
             float* scores) const {
        Vector<TopBuffer> tops;
        tops.reserve(last - first);
        for (std::int64_t q = first; q < last; ++q) tops.emplace_back(n_best_, capacity_);
        for (std::int64_t p = 0; p < rows_.n_panels(); p += panels_at_once_) {
            const std::int64_t end = std::min(p + panels_at_once_, rows_.n_panels());
            for (std::int64_t q = first; q < last; q += kQueriesAtOnce) {
                const std::int64_t count = std::min(kQueriesAtOnce, last - q);
                for (std::int64_t panel = p; panel < end; ++panel) {
                    compare(q, count, panel, tops.data() + (q - first));
                }
            }
            context_.advance((end - p) * (last - first));
        }
        for (std::int64_t q = first; q < last; ++q) {
            write_line(tops[q - first].finish(), width, ids + q * width, scores + q * width);
        }
    }

 private:
    void compare(std::int64_t query, std::int64_t count, std::int64_t panel,
                 TopBuffer* tops) const {
        alignas(64) float scores[kQueriesAtOnce * kPanelRows];
        alignas(64) float start[kPanelRows] = {};
        const std::int64_t first = panel * kPanelRows;
        const std::int64_t n_lanes = std::min(kPanelRows, rows_.n_rows - first);
        if (rows_.bias != nullptr) std::copy_n(rows_.bias + first, n_lanes, start);
        score_panel_(queries_.row(query), count, rows_.n_cols,
                     rows_.lines + panel * rows_.n_cols * kPanelRows, start, scores);
        for (std::int64_t q = 0; q < count; ++q) {
            const float* line = scores + q * kPanelRows;
            float highest = line[0];
            for (std::int64_t i = 1; i < n_lanes; ++i) highest = std::max(highest, line[i]);
            if (!tops[q].admits(highest)) continue;
            for (std::int64_t i = 0; i < n_lanes; ++i) {
                tops[q].offer(line[i], static_cast<std::int32_t>(first + i));
            }
        }
    }

    const Context& context_;
    const DenseView& queries_;
    const RowPanels& rows_;
    std::int64_t n_best_;
    std::int64_t capacity_;
    ScorePanel score_panel_;
    std::int64_t panels_at_once_ = 1;
};

}  // namespace

void pack_panels(const DenseView& rows, float* lines) {
    const std::int64_t n_panels = (rows.n_rows + kPanelRows - 1) / kPanelRows;
    std::fill(lines, lines + n_panels * rows.n_cols * kPanelRows, 0.0F);
    for (std::int64_t row = 0; row < rows.n_rows; ++row) {
        float* lane = lines + row / kPanelRows * rows.n_cols * kPanelRows + row % kPanelRows;
        for (std::int64_t j = 0; j < rows.n_cols; ++j) lane[j * kPanelRows] = rows.row(row)[j];
    }
}

void nearest_rows(const Context& context, const DenseView& queries, const RowPanels& rows,
                  std::int64_t n_best, std::int32_t* ids, float* scores,
                  Instructions instructions) {
    const Comparison comparison(context, queries, rows, n_best, select_score_panel(instructions));
    context.expect(queries.n_rows * rows.n_panels());
    parallel_for(context, queries.n_rows, comparison.grain(),
                 [&](std::int64_t first, std::int64_t last, unsigned) {
                     comparison.run(first, last, n_best, ids, scores);
                 });
}

void rank_votes(const Context& context, std::int64_t n_rows, std::int64_t n_neighbours,
                const std::int32_t* neighbours, const float* weights, const CsrView& Y,
                std::int64_t top_k, std::int32_t* labels, float* scores) {
    context.expect(n_rows);
    parallel_for(context, n_rows, kVoteGrain, [&](std::int64_t first, std::int64_t last, unsigned) {
        // Votes are sorted rather than counted, because a model may have any number of labels.
        Vector<Scored> found;
        for (std::int64_t row = first; row < last; ++row) {
            found.clear();
            for (std::int64_t i = row * n_neighbours; i < (row + 1) * n_neighbours; ++i) {
                if (neighbours[i] < 0 || !(weights[i] > 0.0F)) continue;
                for (auto e = Y.begin(neighbours[i]); e < Y.end(neighbours[i]); ++e) {
                    found.push_back({weights[i], Y.indices[e]});
                }
            }
            add_up(found);
            top_n(found, top_k, better);
            std::sort(found.begin(), found.end(), better);
            write_line(found, top_k, labels + row * top_k, scores + row * top_k);
        }
        context.advance(last - first);
    });
}

}  // namespace defrag
