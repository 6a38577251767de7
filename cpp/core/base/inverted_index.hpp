// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

/// A row in which a feature is non-zero, and the value there.
struct Posting {
    std::int32_t row;
    float value;
};

/// The columns of a matrix, each in order of decreasing absolute value (then by row), so that the
/// first postings of a few columns determine most of a score. O(nnz log nnz) to build.
class InvertedIndex {
 public:
    InvertedIndex(const Context& context, const CsrView& X);

    const Posting* begin(std::int64_t feature) const {
        return postings_.data() + pointers_[feature];
    }
    std::int64_t size(std::int64_t feature) const {
        return pointers_[feature + 1] - pointers_[feature];
    }

 private:
    Vector<std::int64_t> pointers_;
    Vector<Posting> postings_;
};

/// Scores of all rows, most of them zero. Touched rows are listed, so that clearing takes O(touched
/// rows).
class RowScores {
 public:
    explicit RowScores(std::int64_t n_rows) : scores_(n_rows), touched_(n_rows + 1) {}

    /// Adds weight * value to the row of each posting.
    void add(const Posting* posting, std::int64_t count, float weight) {
        const Posting* end = posting + count;
        for (; posting != end; ++posting) add(posting->row, weight * posting->value);
    }

    /// Adds weight * values[i] to rows[i].
    void add(const std::int32_t* rows, const float* values, std::int64_t count, float weight) {
        for (std::int64_t i = 0; i < count; ++i) add(rows[i], weight * values[i]);
    }

    const std::int32_t* begin() const { return touched_.data(); }
    const std::int32_t* end() const { return touched_.data() + n_touched_; }
    float operator[](std::int64_t row) const { return scores_[row]; }

    /// Calls visit(row, score) for the touched rows, and clears the scores.
    template <class Visit>
    void drain(Visit visit) {
        for (std::int64_t i = 0; i < n_touched_; ++i) {
            float& score = scores_[touched_[i]];
            visit(touched_[i], score);
            score = 0.0F;
        }
        n_touched_ = 0;
    }

    void clear() {
        for (std::int64_t i = 0; i < n_touched_; ++i) scores_[touched_[i]] = 0.0F;
        n_touched_ = 0;
    }

 private:
    void add(std::int32_t row, float value) {
        // Keeps a touched score from becoming exactly zero, which would list its row twice.
        constexpr float kTiny = 1e-37F;
        float& score = scores_[row];
        touched_[n_touched_] = row;
        n_touched_ += score == 0.0F ? 1U : 0U;
        const float sum = score + value;
        score = sum == 0.0F ? kTiny : sum;
    }

    Vector<float> scores_;
    Vector<std::int32_t> touched_;
    std::int64_t n_touched_ = 0;
};

}  // namespace defrag
