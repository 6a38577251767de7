// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/rerank.hpp"

#include <algorithm>

#include "core/base/ranking.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 64;
// A step of a binary search costs about as much as this many steps of a linear scan.
constexpr std::int64_t kStepsPerLookUp = 12;
constexpr std::int64_t kFewFeatures = std::int64_t{1} << 22;

float look_up(const CsrView& rows, std::int64_t row, const CsrView& prototypes,
              std::int64_t label) {
    const std::int32_t* place = prototypes.indices + prototypes.begin(label);
    const std::int32_t* end = prototypes.indices + prototypes.end(label);
    double sum = 0.0;
    for (std::int64_t p = rows.begin(row); p < rows.end(row); ++p) {
        place = std::lower_bound(place, end, rows.indices[p]);
        if (place == end) break;
        if (*place == rows.indices[p]) {
            sum += static_cast<double>(rows.data[p]) * prototypes.data[place - prototypes.indices];
        }
    }
    return static_cast<float>(sum);
}

float walk_along(const Vector<float>& dense, const CsrView& prototypes, std::int64_t label) {
    double sum = 0.0;
    for (std::int64_t p = prototypes.begin(label); p < prototypes.end(label); ++p) {
        sum += static_cast<double>(dense[prototypes.indices[p]]) * prototypes.data[p];
    }
    return static_cast<float>(sum);
}

}  // namespace

Vector<float> candidate_products(const Context& context, const CsrView& rows,
                                 const CandidateTable& candidates, const CsrView& prototypes) {
    context.expect(rows.n_rows);
    Vector<float> result(candidates.n_rows * candidates.n_columns);
    // n_cols is only declared, so a dense row is used only if it is proportionate to the stored
    // entries.
    const bool dense_rows = rows.n_cols <= std::max(kFewFeatures, 16 * prototypes.nnz());
    PerWorker<Vector<float>> scratches(context,
                                       [&] { return Vector<float>(dense_rows ? rows.n_cols : 0); });
    parallel_for(
        context, rows.n_rows, kRowsPerBlock,
        [&](std::int64_t begin, std::int64_t end, unsigned worker) {
            Vector<float>& dense = scratches[worker];
            for (std::int64_t row = begin; row < end; ++row) {
                const std::int64_t steps = (rows.end(row) - rows.begin(row)) * kStepsPerLookUp;
                for (std::int64_t p = rows.begin(row); dense_rows && p < rows.end(row); ++p) {
                    dense[rows.indices[p]] = rows.data[p];
                }
                for (std::int64_t c = 0; c < candidates.n_columns; ++c) {
                    const std::int64_t place = row * candidates.n_columns + c;
                    const std::int64_t label = candidates.labels[place];
                    if (label < 0) continue;
                    const bool is_long =
                        !dense_rows || prototypes.end(label) - prototypes.begin(label) > steps;
                    result[place] = is_long ? look_up(rows, row, prototypes, label)
                                            : walk_along(dense, prototypes, label);
                }
                for (std::int64_t p = rows.begin(row); dense_rows && p < rows.end(row); ++p) {
                    dense[rows.indices[p]] = 0.0F;
                }
            }
            context.advance(end - begin);
        });
    return result;
}

Vector<std::int32_t> rank_candidates(const Context& context, const CandidateTable& candidates,
                                     const float* log_scores, const float* cosines,
                                     const float* bonus, const Weighings& weighings,
                                     std::int64_t k) {
    context.expect(candidates.n_rows);
    const std::int64_t n_columns = candidates.n_columns;
    Vector<std::int32_t> result(candidates.n_rows * weighings.n * k, -1);
    const auto rank_row = [&](std::int64_t row, Vector<Scored>& best, Vector<std::int32_t>& order) {
        const std::int32_t* labels = candidates.labels + row * n_columns;
        const float* logs = log_scores + row * n_columns;
        const float* products = cosines + row * n_columns;
        order.clear();
        for (std::int32_t c = 0; c < n_columns; ++c) {
            if (labels[c] >= 0) order.push_back(c);
        }
        // Candidates are sorted by label, so that ties are broken by position.
        std::sort(order.begin(), order.end(),
                  [labels](std::int32_t a, std::int32_t b) { return labels[a] < labels[b]; });
        for (std::int64_t w = 0; w < weighings.n; ++w) {
            std::int32_t size = 0;
            Best top(best.data(), &size, k);
            for (std::int64_t i = 0; i < order.size(); ++i) {
                const std::int32_t c = order[i];
                const float score = logs[c] + weighings.strengths[w] * products[c] +
                                    weighings.weights[w] * bonus[labels[c]];
                top.offer({score, static_cast<std::int32_t>(i)});
            }
            top.put_in_order();
            std::int32_t* columns = result.data() + (row * weighings.n + w) * k;
            for (std::int32_t i = 0; i < size; ++i) columns[i] = order[best[i].id];
        }
    };
    parallel_for(context, candidates.n_rows, kRowsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned) {
                     Vector<Scored> best(k);
                     Vector<std::int32_t> order;
                     for (std::int64_t row = begin; row < end; ++row) rank_row(row, best, order);
                     context.advance(end - begin);
                 });
    return result;
}

}  // namespace defrag
