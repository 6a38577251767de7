// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/flat_panels.hpp"

#include <algorithm>

#include "core/solver/compact_rows.hpp"
#include "core/solver/pass.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kPanelsAtOnce = kMarginsAtOnce / kLanes;
// Number of rows whose copies and best outputs are held in memory at once.
constexpr std::int64_t kRowsAtOnce = std::int64_t{1} << 14;
constexpr std::int64_t kRowGrain = 64;
// Outputs are divided into so many ranges per thread, as long as the panels of all threads take
// no more than kMostBytes.
constexpr std::int64_t kRangesPerThread = 8;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

// Costs relative to adding a single weight to a margin: adding a line of sixteen weights, clearing
// a line, and storing a weight in it.
constexpr double kAddLine = 1.5;
constexpr double kMakeLine = 14.0;
constexpr double kPutWeight = 5.0;
// With fewer rows no weight is used often enough to repay unpacking, so the costs are not
// estimated.
constexpr std::int64_t kFewRows = 6;
constexpr std::int64_t kMostFeatures = std::int64_t{1} << 25;

/// The panels of one thread, and the best of the outputs that it has scored.
template <class Output>
class OutputScorer {
 public:
    OutputScorer(const FlatModel<Output>& model, const CompactRows& rows, std::int64_t k)
        : model_(model),
          rows_(rows),
          k_(k),
          score_panels_(select_score_panels(Instructions::kBest)),
          panel_size_(rows.n_slots() * kLanes),
          next_(rows.n_slots()),
          found_(rows.n_rows() * k),
          n_found_(rows.n_rows(), 0) {
        panels_.require(kPanelsAtOnce * panel_size_);
    }

    /// Scores outputs [begin, end); ranges must come in ascending order.
    void score(const Context& context, std::int64_t begin, std::int64_t end) {
        start_at(begin);
        for (; begin < end; begin += kMarginsAtOnce) {
            const std::int64_t count = std::min(kMarginsAtOnce, end - begin);
            for (std::int64_t slot = 0; slot < rows_.n_slots(); ++slot) lay_out(slot, begin);
            score_rows(begin, count);
            context.advance(rows_.n_rows() * count);
        }
    }

    Best best(std::int64_t row) { return {items(row), &n_found_[row], k_}; }
    Scored* items(std::int64_t row) { return found_.data() + row * k_; }
    std::int32_t n_items(std::int64_t row) const { return n_found_[row]; }

 private:
    /// Finds the first weight of every feature for an output from `begin` on.
    void start_at(std::int64_t begin) {
        for (std::int64_t slot = 1; slot < rows_.n_slots(); ++slot) {
            const std::int64_t* ptr = model_.feature_ptr + rows_.feature(slot);
            const Output* place = std::lower_bound(
                model_.outputs + ptr[0], model_.outputs + ptr[1], begin,
                [](Output output, std::int64_t first) { return std::int64_t{output} < first; });
            next_[slot] = place - model_.outputs;
        }
    }

    /// Fills the lines of a feature with the weights of the outputs from `begin` on.
    void lay_out(std::int64_t slot, std::int64_t begin) {
        float* lines[kPanelsAtOnce];
        for (std::int64_t k = 0; k < kPanelsAtOnce; ++k) {
            lines[k] = panels_.data() + k * panel_size_ + slot * kLanes;
            std::fill(lines[k], lines[k] + kLanes, 0.0F);
        }
        if (slot == 0) return;  // the bias, which is already in the margins
        const std::int64_t end = begin + kMarginsAtOnce;
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
    void score_rows(std::int64_t begin, std::int64_t count) {
        const std::int64_t n_panels = (count + kLanes - 1) / kLanes;
        alignas(64) float margins[kMarginsAtOnce] = {};
        for (std::int64_t row = 0; row < rows_.n_rows(); ++row) {
            std::copy(model_.bias + begin, model_.bias + begin + count, margins);
            score_panels_(rows_.entries() + rows_.starts()[row],
                          rows_.entries() + rows_.starts()[row + 1], panels_.data(), panel_size_,
                          n_panels, margins);
            Best kept = best(row);
            offer_block(kept, margins, begin, count);
        }
    }

    const FlatModel<Output>& model_;
    const CompactRows& rows_;
    std::int64_t k_;
    ScorePanels score_panels_;
    std::int64_t panel_size_;
    AlignedBuffer<float> panels_;
    Vector<std::int64_t> next_;  // by slot: its first weight not yet unpacked
    Vector<Scored> found_;       // [row][k]
    Vector<std::int32_t> n_found_;
};

/// Ranks rows and writes them to the result from row `first` on. Threads divide the outputs, not
/// the rows: panels that several threads fill and read would move from cache to cache.
template <class Output>
void rank_rows(const Context& context, const FlatModel<Output>& model, const CompactRows& rows,
               std::int64_t first, TopLabels& result) {
    const std::int64_t k = std::min(result.k, model.n_outputs);
    const std::int64_t n_bytes = rows.n_slots() * kMarginsAtOnce * std::int64_t{sizeof(float)};
    const std::int64_t n_ranges = std::min<std::int64_t>(kRangesPerThread * context.n_threads(),
                                                         std::max(kMostBytes / n_bytes, {1}));
    const std::int64_t n_blocks = (model.n_outputs + kMarginsAtOnce - 1) / kMarginsAtOnce;
    const std::int64_t n_together = (n_blocks + n_ranges - 1) / n_ranges * kMarginsAtOnce;
    PerWorker<OutputScorer<Output>> scorers(context,
                                            [&] { return OutputScorer<Output>(model, rows, k); });
    parallel_for(context, model.n_outputs, n_together,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     scorers[worker].score(context, begin, end);
                 });
    OutputScorer<Output>& own =
        scorers[0];  // created here, in case other threads have done all the work
    parallel_for(
        context, rows.n_rows(), kRowGrain, [&](std::int64_t from, std::int64_t to, unsigned) {
            for (std::int64_t row = from; row < to; ++row) {
                Best best = own.best(row);
                for (unsigned w = 1; w < context.n_threads(); ++w) {
                    if (!scorers.has(w)) continue;
                    OutputScorer<Output>& other = scorers[w];
                    for (std::int32_t i = 0; i < other.n_items(row); ++i) {
                        best.offer(other.items(row)[i]);
                    }
                }
                write_found(own.items(row), own.n_items(row), model.labels, first + row, result);
            }
        });
}

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
    Vector<std::int32_t> scratch(model.n_features, 0);
    CompactRows rows;
    for (std::int64_t row = 0; row < X.n_rows; row += kRowsAtOnce) {
        CsrView part = X;
        part.n_rows = std::min(kRowsAtOnce, X.n_rows - row);
        part.indptr = X.indptr + row;
        rows.assign(part, nullptr, part.n_rows, 0.0F, scratch);
        rank_rows(context, model, rows, row, result);
    }
}

template bool panels_pay(const FlatModel<std::uint16_t>&, const CsrView&, std::int64_t);
template bool panels_pay(const FlatModel<std::int32_t>&, const CsrView&, std::int64_t);
template void rank_by_panels(const Context&, const FlatModel<std::uint16_t>&, const CsrView&,
                             TopLabels&);
template void rank_by_panels(const Context&, const FlatModel<std::int32_t>&, const CsrView&,
                             TopLabels&);

}  // namespace defrag
