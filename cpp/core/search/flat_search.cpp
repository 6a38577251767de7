// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/flat_search.hpp"

#include <algorithm>

#include "core/search/flat_panels.hpp"

namespace defrag {
namespace {

// A row that has fewer weights than outputs / kTouchedShare lists the outputs that it touches.
constexpr std::int64_t kTouchedShare = 4;
constexpr std::int64_t kGrain = 64;

/// Ranks one row at a time; one object per thread.
template <class Output>
class RowRanker {
 public:
    RowRanker(const FlatModel<Output>& model, std::int64_t k)
        : model_(model),
          k_(std::min(k, model.n_outputs)),
          margins_(model.bias, model.bias + model.n_outputs),
          last_row_(model.n_outputs, -1),
          touched_(model.n_outputs + 1) {}

    void rank(const CsrView& X, std::int64_t row, TopLabels& out) {
        n_found_ = 0;
        found_.resize(k_);
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
        write_found(found_.data(), n_found_, model_.labels, row, out);
    }

 private:
    void rank_all(const CsrView& X, std::int64_t row) {
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) {
            const float value = X.data[p];
            model_.for_each(X.indices[p], [&](std::int64_t output, float weight) {
                margins_[output] += weight * value;
            });
        }
        if (k_ > kKeptInOrder) {
            found_.clear();
            for (std::int64_t o = 0; o < model_.n_outputs; ++o) collect(o);
            keep_best();
        } else {
            Best best(found_.data(), &n_found_, k_);
            for (std::int64_t o = 0; o < model_.n_outputs; o += kMarginsAtOnce) {
                offer_block(best, margins_.data() + o, o,
                            std::min(kMarginsAtOnce, model_.n_outputs - o));
            }
        }
        std::copy(model_.bias, model_.bias + model_.n_outputs, margins_.begin());
    }

    void rank_touched(const CsrView& X, std::int64_t row) {
        std::int64_t n_touched = 0;
        for (std::int64_t p = X.begin(row); p < X.end(row); ++p) {
            const float value = X.data[p];
            model_.for_each(X.indices[p], [&](std::int64_t output, float weight) {
                touched_[n_touched] = static_cast<std::int32_t>(output);
                n_touched += last_row_[output] != row ? 1 : 0;
                last_row_[output] = row;
                margins_[output] += weight * value;
            });
        }
        found_.clear();
        for (std::int64_t t = 0; t < n_touched; ++t) collect(touched_[t]);
        std::int64_t n_others = 0;
        for (std::int64_t i = 0; i < model_.n_outputs && n_others < k_; ++i) {
            const std::int32_t output = model_.by_bias[i];
            if (last_row_[output] == row) continue;
            collect(output);
            ++n_others;
        }
        keep_best();
        for (std::int64_t t = 0; t < n_touched; ++t) {
            margins_[touched_[t]] = model_.bias[touched_[t]];
        }
    }

    void collect(std::int64_t output) { found_.push_back(scored(margins_[output], output)); }

    /// Sorts the best of the collected outputs.
    void keep_best() {
        top_n(found_, k_, better);
        std::sort(found_.begin(), found_.end(), better);
        n_found_ = static_cast<std::int32_t>(found_.size());
    }

    const FlatModel<Output>& model_;
    std::int64_t k_;
    Vector<float> margins_;  // equal to the biases between rows
    Vector<std::int64_t> last_row_;
    Vector<std::int32_t> touched_;
    Vector<Scored> found_;
    std::int32_t n_found_ = 0;
};

}  // namespace

template <class Output>
TopLabels flat_search(const Context& context, const FlatModel<Output>& model, const CsrView& X,
                      std::int64_t k) {
    TopLabels result(X.n_rows, k);
    if (panels_pay(model, X, k)) {
        rank_by_panels(context, model, X, result);
        return result;
    }
    context.expect(X.n_rows);
    PerWorker<RowRanker<Output>> rankers(context, [&] { return RowRanker<Output>(model, k); });
    for_each(context, X.n_rows, kGrain,
             [&](std::int64_t row, unsigned worker) { rankers[worker].rank(X, row, result); });
    return result;
}

template TopLabels flat_search(const Context&, const FlatModel<std::uint16_t>&, const CsrView&,
                               std::int64_t);
template TopLabels flat_search(const Context&, const FlatModel<std::int32_t>&, const CsrView&,
                               std::int64_t);

}  // namespace defrag
