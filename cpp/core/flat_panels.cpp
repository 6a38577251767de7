// SPDX-License-Identifier: BSD-3-Clause
#include "core/flat_panels.hpp"

#include <algorithm>

#include "core/compact_rows.hpp"
#include "core/flat_ranking.hpp"
#include "core/solver_pass.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kPanelsAtOnce = kMarginsAtOnce / kLanes;
// Number of rows whose copies and best outputs are held in memory at once.
constexpr std::int64_t kRowsAtOnce = std::int64_t{1} << 14;
constexpr std::int64_t kRowGrain = 64;
constexpr std::int64_t kSlotGrain = 512;

// Costs relative to adding a single weight to a margin: adding a line of sixteen weights, clearing
// a line, and storing a weight in it.
constexpr double kAddLine = 1.5;
constexpr double kMakeLine = 14.0;
constexpr double kPutWeight = 5.0;
// With fewer rows no weight is used often enough to repay unpacking, so the costs are not
// estimated.
constexpr std::int64_t kFewRows = 6;
constexpr std::int64_t kMostFeatures = std::int64_t{1} << 25;

/// Ranks a slice of the rows of X.
template <class Output>
class PanelRanker {
 public:
    PanelRanker(const Context& context, const FlatModel<Output>& model, std::int64_t k)
        : context_(context),
          model_(model),
          k_(std::min(k, model.n_outputs)),
          score_panels_(select_score_panels(Instructions::kBest)),
          scratch_(model.n_features, 0) {}

    /// Ranks the rows of X and writes them to the result from row `first` on.
    void rank(const CsrView& X, std::int64_t first, TopLabels& result) {
        rows_.assign(X, {}, nullptr, X.n_rows, 0.0F, scratch_);
        panel_size_ = rows_.n_slots() * kLanes;
        panels_.require(kPanelsAtOnce * panel_size_);
        next_.resize(rows_.n_slots());
        for (std::int64_t slot = 1; slot < rows_.n_slots(); ++slot) {
            next_[slot] = model_.feature_ptr[rows_.feature(slot)];
        }
        found_.resize(X.n_rows * k_);
        n_found_.assign(X.n_rows, 0);
        for (std::int64_t begin = 0; begin < model_.n_outputs; begin += kMarginsAtOnce) {
            const std::int64_t count = std::min(kMarginsAtOnce, model_.n_outputs - begin);
            lay_out(begin);
            score(begin, count);
        }
        parallel_for(context_, X.n_rows, kRowGrain,
                     [&](std::int64_t from, std::int64_t to, unsigned) {
                         for (std::int64_t row = from; row < to; ++row) {
                             write_found(found_.data() + row * k_, n_found_[row], model_.labels,
                                         first + row, result);
                         }
                     });
    }

 private:
    /// Fills the panels with the weights of the outputs from `begin` on.
    void lay_out(std::int64_t begin) {
        const std::int64_t end = begin + kMarginsAtOnce;
        parallel_for(context_, rows_.n_slots(), kSlotGrain,
                     [&](std::int64_t from, std::int64_t to, unsigned) {
                         for (std::int64_t slot = from; slot < to; ++slot) {
                             lay_out_slot(slot, begin, end);
                         }
                         context_.check();
                     });
    }

    void lay_out_slot(std::int64_t slot, std::int64_t begin, std::int64_t end) {
        float* lines[kPanelsAtOnce];
        for (std::int64_t k = 0; k < kPanelsAtOnce; ++k) {
            lines[k] = panels_.data() + k * panel_size_ + slot * kLanes;
            std::fill(lines[k], lines[k] + kLanes, 0.0F);
        }
        if (slot == 0) return;  // the bias, which is already in the margins
        const std::int64_t feature = rows_.feature(slot);
        next_[slot] = model_.for_each_while(feature, next_[slot], model_.feature_ptr[feature + 1],
                                            [&](std::int64_t output, float weight) {
                                                const std::int64_t place = output - begin;
                                                if (output < end)
                                                    lines[place / kLanes][place % kLanes] = weight;
                                                return output < end;
                                            });
    }

    /// Adds the weights of every row to the biases, and offers the outputs to the best of the row.
    void score(std::int64_t begin, std::int64_t count) {
        const std::int64_t n_panels = (count + kLanes - 1) / kLanes;
        parallel_for(context_, rows_.n_rows(), kRowGrain,
                     [&](std::int64_t from, std::int64_t to, unsigned) {
                         alignas(64) float margins[kMarginsAtOnce] = {};
                         for (std::int64_t row = from; row < to; ++row) {
                             std::copy(model_.bias + begin, model_.bias + begin + count, margins);
                             score_panels_(rows_.entries() + rows_.starts()[row],
                                           rows_.entries() + rows_.starts()[row + 1],
                                           panels_.data(), panel_size_, n_panels, margins);
                             Best best(found_.data() + row * k_, &n_found_[row], k_);
                             offer_block(best, margins, begin, count);
                         }
                         context_.advance((to - from) * count);
                     });
    }

    const Context& context_;
    const FlatModel<Output>& model_;
    std::int64_t k_;
    ScorePanels score_panels_;
    Vector<std::int32_t> scratch_;
    CompactRows rows_;
    std::int64_t panel_size_ = 0;
    AlignedBuffer<float> panels_;
    Vector<std::int64_t> next_;  // by slot: its first weight not yet unpacked
    Vector<Scored> found_;       // [row][k]
    Vector<std::int32_t> n_found_;
};

}  // namespace

template <class Output>
bool panels_pay(const FlatModel<Output>& model, const CsrView& X, std::int64_t k) {
    if (std::min(k, model.n_outputs) > kKeptInOrder || X.n_rows < kFewRows ||
        model.n_features > kMostFeatures) {
        return false;
    }
    std::int64_t met = 0;
    std::int64_t n_slots = 0;
    std::int64_t n_weights = 0;
    Vector<char> seen(model.n_features, 0);
    for (std::int64_t p = X.begin(0); p < X.end(X.n_rows - 1); ++p) {
        const std::int64_t feature = X.indices[p];
        const std::int64_t count = model.feature_ptr[feature + 1] - model.feature_ptr[feature];
        met += count;
        if (seen[feature] != 0) continue;
        seen[feature] = 1;
        ++n_slots;
        n_weights += count;
    }
    const auto n_panels = static_cast<double>((model.n_outputs + kLanes - 1) / kLanes);
    const auto n_entries = static_cast<double>(X.nnz() + X.n_rows * CompactRows::kStride);
    return n_panels * (n_entries * kAddLine + static_cast<double>(n_slots) * kMakeLine) +
               static_cast<double>(n_weights) * kPutWeight <
           static_cast<double>(met);
}

template <class Output>
void rank_by_panels(const Context& context, const FlatModel<Output>& model, const CsrView& X,
                    TopLabels& result) {
    context.expect(X.n_rows * model.n_outputs);
    PanelRanker<Output> ranker(context, model, result.k);
    for (std::int64_t row = 0; row < X.n_rows; row += kRowsAtOnce) {
        CsrView part = X;
        part.n_rows = std::min(kRowsAtOnce, X.n_rows - row);
        part.indptr = X.indptr + row;
        ranker.rank(part, row, result);
    }
}

template bool panels_pay(const FlatModel<std::uint16_t>&, const CsrView&, std::int64_t);
template bool panels_pay(const FlatModel<std::int32_t>&, const CsrView&, std::int64_t);
template void rank_by_panels(const Context&, const FlatModel<std::uint16_t>&, const CsrView&,
                             TopLabels&);
template void rank_by_panels(const Context&, const FlatModel<std::int32_t>&, const CsrView&,
                             TopLabels&);

}  // namespace defrag
