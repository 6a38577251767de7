// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/matches.hpp"

#include <algorithm>

#include "core/base/aligned.hpp"
#include "core/base/blocks.hpp"
#include "core/base/ranking.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 64;
constexpr std::int64_t kFloatsPerLine = 16;

/// Columns by coordinate; frequent coordinates are stored as dense lines as well.
class Postings {
 public:
    Postings(const CsrView& right, std::int64_t dense_share, std::int64_t dense_bytes)
        : right_(right), line_of_(right.n_rows, -1) {
        stride_ = (right.n_cols + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
        Vector<std::int32_t> crowded;
        for (std::int64_t row = 0; row < right.n_rows; ++row) {
            const std::int64_t size = right.end(row) - right.begin(row);
            if (size * dense_share > right.n_cols) {
                crowded.push_back(static_cast<std::int32_t>(row));
            }
        }
        const std::int64_t line_bytes = stride_ * static_cast<std::int64_t>(sizeof(float));
        const auto room = dense_bytes / std::max<std::int64_t>(line_bytes, 1);
        if (crowded.size() > room) {
            std::sort(crowded.begin(), crowded.end(), [&](std::int32_t a, std::int32_t b) {
                const std::int64_t left = right.end(a) - right.begin(a);
                const std::int64_t other = right.end(b) - right.begin(b);
                return left != other ? left > other : a < b;
            });
            crowded.resize(room);
        }
        lines_.require(crowded.size() * stride_);
        std::fill(lines_.data(), lines_.data() + crowded.size() * stride_, 0.0F);
        for (std::int64_t n = 0; n < crowded.size(); ++n) {
            line_of_[crowded[n]] = static_cast<std::int64_t>(n) * stride_;
            float* line = lines_.data() + n * stride_;
            for (auto p = right.begin(crowded[n]); p < right.end(crowded[n]); ++p) {
                line[right.indices[p]] = right.data[p];
            }
        }
    }

    /// Number of floats that `add` may write.
    std::int64_t stride() const { return stride_; }

    /// sums[column] += value * right(coordinate, column). In a dense line, a column without an
    /// entry adds a zero, so both representations give the same bits.
    void add(std::int64_t coordinate, float value, float* sums) const {
        const std::int64_t place = line_of_[coordinate];
        if (place >= 0) {
            const float* line = lines_.data() + place;
            for (std::int64_t column = 0; column < stride_; ++column) {
                sums[column] += value * line[column];
            }
            return;
        }
        for (auto p = right_.begin(coordinate); p < right_.end(coordinate); ++p) {
            sums[right_.indices[p]] += value * right_.data[p];
        }
    }

 private:
    const CsrView& right_;
    Vector<std::int64_t> line_of_;  // offset of a coordinate's dense line, -1 for none
    AlignedBuffer<float> lines_;
    std::int64_t stride_ = 0;
};

/// Writes the best columns to `best`, best first.
void select(const float* sums, std::int64_t n_columns, std::int64_t n_best,
            Vector<std::int32_t>& best) {
    best.clear();
    if (n_best == 1) {
        float highest = 0.0F;
        std::int32_t found = -1;
        for (std::int64_t column = 0; column < n_columns; ++column) {
            if (sums[column] > highest) {
                highest = sums[column];
                found = static_cast<std::int32_t>(column);
            }
        }
        if (found >= 0) best.push_back(found);
        return;
    }
    for (std::int64_t column = 0; column < n_columns; ++column) {
        if (sums[column] > 0.0F) best.push_back(static_cast<std::int32_t>(column));
    }
    const auto higher = [sums](std::int32_t a, std::int32_t b) {
        return sums[a] != sums[b] ? sums[a] > sums[b] : a < b;
    };
    top_n(best, n_best, higher);
    std::sort(best.begin(), best.end(), higher);
}

}  // namespace

Matches best_matches(const Context& context, const CsrView& left, const CsrView& right,
                     std::int64_t n_best, const std::int32_t* own, std::int64_t dense_share,
                     std::int64_t dense_bytes) {
    struct Scratch {
        AlignedBuffer<float> sums;
        Vector<std::int32_t> best;
    };
    const Postings postings(right, dense_share, dense_bytes);
    context.expect(left.n_rows);
    PerWorker<Scratch> scratches(context, [] { return Scratch(); });
    Vector<float> own_scores(own == nullptr ? 0 : left.n_rows);
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned worker) {
        Scratch& scratch = scratches[worker];
        scratch.sums.require(postings.stride());
        float* sums = scratch.sums.data();
        std::fill(sums, sums + postings.stride(), 0.0F);
        for (auto p = left.begin(row); p < left.end(row); ++p) {
            postings.add(left.indices[p], left.data[p], sums);
        }
        select(sums, right.n_cols, n_best, scratch.best);
        for (const std::int32_t column : scratch.best) block.push(column, sums[column]);
        if (own != nullptr) own_scores[row] = sums[own[row]];
        context.check();
    };
    Csr found = build_rows(context, left.n_rows, right.n_cols, kRowsPerBlock, fill);
    return {std::move(found.indptr), std::move(found.indices), std::move(found.data),
            std::move(own_scores)};
}

}  // namespace defrag
