// SPDX-License-Identifier: BSD-3-Clause
#include "core/flat_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/ranking.hpp"

namespace defrag {
namespace {

// A row that meets fewer weights than this share of the outputs remembers which it touched.
constexpr std::int64_t kTouchedShare = 4;
// Up to so many labels are kept in order as they come; more are sorted at the end.
constexpr std::int64_t kKeptInOrder = 128;
// Margins that are compared to the worst kept one before any of them is looked at.
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kGrain = 64;

/// Ranks one row after the other; one object per thread.
template <class Output>
class RowRanker {
 public:
    RowRanker(const FlatModel<Output>& model, std::int64_t top_k)
        : model_(model),
          top_k_(std::min(top_k, model.n_outputs)),
          margins_(model.bias, model.bias + model.n_outputs),
          last_row_(at(model.n_outputs), -1),
          touched_(at(model.n_outputs) + 1) {}

    void rank(const CsrView& X, std::int64_t row, TopLabels& out) {
        n_found_ = 0;
        found_.resize(at(top_k_));
        std::int64_t n_weights = 0;
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) {
            const std::int64_t feature = X.indices[p];
            n_weights += model_.feature_ptr[feature + 1] - model_.feature_ptr[feature];
        }
        if (n_weights < model_.n_outputs / kTouchedShare) {
            rank_touched(X, row);
        } else {
            rank_all(X, row);
        }
        write(row, out);
    }

 private:
    void rank_all(const CsrView& X, std::int64_t row) {
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) {
            const float value = X.data[p];
            const std::int64_t end = model_.feature_ptr[X.indices[p] + 1];
            for (std::int64_t e = model_.feature_ptr[X.indices[p]]; e < end; ++e) {
                margins_[model_.outputs[e]] += model_.weights[e] * value;
            }
        }
        if (top_k_ > kKeptInOrder) {
            found_.clear();
            for (std::int64_t o = 0; o < model_.n_outputs; ++o) collect(o);
            keep_best();
        } else {
            for (std::int64_t o = 0; o < model_.n_outputs; o += kBlock) {
                offer_block(o, std::min(o + kBlock, model_.n_outputs));
            }
        }
        std::copy(model_.bias, model_.bias + model_.n_outputs, margins_.begin());
    }

    void rank_touched(const CsrView& X, std::int64_t row) {
        std::size_t n_touched = 0;
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) {
            const float value = X.data[p];
            const std::int64_t end = model_.feature_ptr[X.indices[p] + 1];
            for (std::int64_t e = model_.feature_ptr[X.indices[p]]; e < end; ++e) {
                const auto output = static_cast<std::int32_t>(model_.outputs[e]);
                touched_[n_touched] = output;
                n_touched += last_row_[at(output)] != row ? 1 : 0;
                last_row_[at(output)] = row;
                margins_[at(output)] += model_.weights[e] * value;
            }
        }
        found_.clear();
        for (std::size_t t = 0; t < n_touched; ++t) collect(touched_[t]);
        std::int64_t n_others = 0;
        for (std::int64_t i = 0; i < model_.n_outputs && n_others < top_k_; ++i) {
            const std::int32_t output = model_.by_bias[i];
            if (last_row_[at(output)] == row) continue;
            collect(output);
            ++n_others;
        }
        keep_best();
        for (std::size_t t = 0; t < n_touched; ++t) {
            margins_[at(touched_[t])] = model_.bias[touched_[t]];
        }
    }

    /// An output with its margin. Weights from a file are finite, but their sums need not be,
    /// and nothing can be ordered by what is not a number.
    Scored scored(std::int64_t output) const {
        const float margin = margins_[at(output)];
        return {std::isnan(margin) ? -std::numeric_limits<float>::infinity() : margin,
                static_cast<std::int32_t>(output)};
    }

    void collect(std::int64_t output) { found_.push_back(scored(output)); }

    /// Orders the best of what was collected.
    void keep_best() {
        n_found_ =
            static_cast<std::int32_t>(std::min(top_k_, static_cast<std::int64_t>(found_.size())));
        const auto middle = found_.begin() + n_found_;
        if (middle != found_.end()) {
            std::nth_element(found_.begin(), middle, found_.end(), better);
        }
        std::sort(found_.begin(), middle, better);
    }

    void offer_block(std::int64_t begin, std::int64_t end) {
        Best best(found_.data(), &n_found_, top_k_);
        if (best.full()) {
            // Outputs come in order: of equal margins the one that is kept already is better.
            const float worst = best.worst().score;
            int any = 0;
            for (std::int64_t o = begin; o < end; ++o) any |= margins_[at(o)] > worst ? 1 : 0;
            if (any == 0) return;
        }
        for (std::int64_t o = begin; o < end; ++o) best.offer(scored(o));
    }

    void write(std::int64_t row, TopLabels& out) {
        for (std::int32_t i = 0; i < n_found_; ++i) {
            Scored& item = found_[at(i)];
            item.score =
                static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(item.score))));
        }
        // Different margins may have one score: the order is that of what is given.
        std::sort(found_.begin(), found_.begin() + n_found_, better);
        for (std::int32_t i = 0; i < n_found_; ++i) {
            const std::size_t place = at(row * out.top_k + i);
            out.labels[place] = model_.labels[found_[at(i)].id];
            out.scores[place] = found_[at(i)].score;
        }
    }

    const FlatModel<Output>& model_;
    std::int64_t top_k_;
    std::vector<float> margins_;  // between rows: the biases
    std::vector<std::int64_t> last_row_;
    std::vector<std::int32_t> touched_;
    std::vector<Scored> found_;
    std::int32_t n_found_ = 0;
};

}  // namespace

template <class Output>
TopLabels flat_search(const Context& context, const FlatModel<Output>& model, const CsrView& X,
                      std::int64_t top_k) {
    context.expect(X.n_rows);
    TopLabels result;
    result.top_k = top_k;
    result.labels.assign(at(X.n_rows * top_k), -1);
    result.scores.assign(at(X.n_rows * top_k), 0.0F);
    std::vector<RowRanker<Output>> rankers;
    rankers.reserve(context.n_threads());
    for (unsigned w = 0; w < context.n_threads(); ++w) rankers.emplace_back(model, top_k);
    parallel_for(context, X.n_rows, kGrain,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     for (std::int64_t row = begin; row < end; ++row) {
                         rankers[worker].rank(X, row, result);
                     }
                     context.advance(end - begin);
                 });
    return result;
}

template TopLabels flat_search(const Context&, const FlatModel<std::uint16_t>&, const CsrView&,
                               std::int64_t);
template TopLabels flat_search(const Context&, const FlatModel<std::int32_t>&, const CsrView&,
                               std::int64_t);

}  // namespace defrag
