// SPDX-License-Identifier: BSD-3-Clause
#include "core/one_vs_rest/ppd_sparse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/base/blocks.hpp"
#include "core/base/random.hpp"
#include "core/solver/compact_rows.hpp"
#include "core/solver/pass.hpp"

namespace defrag {
namespace {

/// Solves kLanes labels that share their active rows. Reuses its memory; one object per thread.
class SparseBlockSolver {
 public:
    void solve(const Context& context, const CompactRows& rows, const CsrView& positives,
               std::int64_t begin, std::int64_t end, std::uint64_t item,
               const PpdSparseOptions& options) {
        rows_ = &rows;
        start(positives, begin, end, options);
        Stream stream(options.seed, Stage::kPpdSparse, item);
        const RunPass run_pass = select_sparse_pass(options.instructions);
        float slack =
            options.slack * static_cast<float>(std::int64_t{1} << (options.max_rounds - 1));
        for (std::int64_t round = 0; round < options.max_rounds; ++round) {
            if (round > 0) {
                slack *= 0.5F;
                search(context, 1.0F - slack, options.instructions);
            }
            run_passes(context, run_pass, round == 0 ? 1 : options.passes, stream);
        }
        if (options.final_passes == 0) return;
        fix_support();
        run_passes(context, run_pass, options.final_passes, stream);
    }

    /// Appends the weights of a lane that are above the threshold, in ascending order of features.
    void collect(std::int64_t lane, const PpdSparseOptions& options, std::int64_t n_features,
                 RowBlock& out) {
        found_.clear();
        for (std::int64_t slot = 1; slot < rows_->n_slots(); ++slot) {
            const float weight = memory_.weights.data()[slot * kLanes + lane];
            if (std::abs(weight) > options.threshold) {
                found_.push_back({rows_->feature(slot), weight});
            }
        }
        std::sort(found_.begin(), found_.end(),
                  [](const Found& a, const Found& b) { return a.feature < b.feature; });
        for (const Found& one : found_) out.push(one.feature, one.weight);
        out.push(static_cast<std::int32_t>(n_features),
                 rows_->bias() * memory_.weights.data()[lane] + memory_.offsets[lane]);
    }

 private:
    struct Found {
        std::int32_t feature;
        float weight;
    };

    void start(const CsrView& positives, std::int64_t begin, std::int64_t end,
               const PpdSparseOptions& options) {
        const std::int64_t n_rows = rows_->n_rows();
        memory_.start(*rows_);
        listed_.assign(n_rows, 0);
        active_.resize(n_rows);
        n_active_ = 0;
        std::fill(memory_.offsets, memory_.offsets + kLanes, -2.0F);  // an unused lane never moves
        for (std::int64_t label = begin; label < end; ++label) {
            for (auto p = positives.begin(label); p < positives.end(label); ++p) {
                const std::int32_t row = positives.indices[p];
                if (memory_.mark(label - begin, row) == 0) active_[n_active_++] = row;
            }
            const auto count = static_cast<double>(positives.end(label) - positives.begin(label));
            memory_.offsets[label - begin] =
                static_cast<float>(2.0 * count / static_cast<double>(n_rows) - 1.0);
        }
        const std::int64_t n_weights = rows_->n_slots() * kLanes;
        for (AlignedBuffer<float>* panel : {&sums_, &penalties_}) {
            panel->require(n_weights);
            std::fill(panel->data(), panel->data() + n_weights, 0.0F);
        }
        std::fill(penalties_.data() + kLanes, penalties_.data() + n_weights,
                  static_cast<float>(options.l1));
        pass_ = memory_.make_pass(*rows_, options.cost, options.skip);
        pass_.sums = sums_.data();
        pass_.penalties = penalties_.data();
    }

    void run_passes(const Context& context, RunPass run_pass, std::int64_t count, Stream& stream) {
        for (std::int64_t pass = 0; pass < count; ++pass) {
            context.check();
            stream.shuffle(active_.begin(), n_active_);
            pass_.rows = active_.data();
            pass_.n_rows = n_active_;
            n_active_ = run_pass(pass_);
        }
    }

    /// Scans all inactive rows, and activates those with a margin below `level`.
    void search(const Context& context, float level, Instructions instructions) {
        context.check();
        for (std::int64_t i = 0; i < n_active_; ++i) listed_[active_[i]] = 1;
        std::int64_t n_others = 0;
        others_.resize(rows_->n_rows());
        for (std::int64_t row = 0; row < rows_->n_rows(); ++row) {
            others_[n_others] = static_cast<std::int32_t>(row);
            n_others += listed_[row] == 0 ? 1 : 0;
        }
        for (std::int64_t i = 0; i < n_active_; ++i) listed_[active_[i]] = 0;
        pass_.rows = others_.data();
        pass_.n_rows = n_others;
        const std::int64_t n_found = select_find_rows(instructions)(pass_, level);
        std::copy(others_.begin(), others_.begin() + n_found, active_.begin() + n_active_);
        n_active_ += n_found;
    }

    /// Fixes zero weights at zero and removes the l1 penalty from the others.
    void fix_support() {
        const std::int64_t n_weights = rows_->n_slots() * kLanes;
        for (std::int64_t i = kLanes; i < n_weights; ++i) {
            const bool kept = memory_.weights.data()[i] != 0.0F;
            penalties_.data()[i] = kept ? 0.0F : std::numeric_limits<float>::infinity();
            memory_.weights.data()[i] = kept ? sums_.data()[i] : 0.0F;
        }
    }

    const CompactRows* rows_ = nullptr;
    Pass pass_ = {};
    LaneMemory memory_;
    AlignedBuffer<float> sums_;
    AlignedBuffer<float> penalties_;
    Vector<std::uint8_t> listed_;
    Vector<std::int32_t> active_;
    Vector<std::int32_t> others_;
    std::int64_t n_active_ = 0;
    Vector<Found> found_;
};

}  // namespace

Csr train_ppd_sparse(const Context& context, const CsrView& X, const CsrView& positives,
                     std::int64_t first, const PpdSparseOptions& options) {
    CompactRows::check_width(X);
    if (options.max_rounds < 1 || options.max_rounds > 60) {
        throw std::invalid_argument("max_rounds must be in [1, 60], got " +
                                    std::to_string(options.max_rounds));
    }
    const std::int64_t n_labels = positives.n_rows;
    context.expect(n_labels);
    CompactRows rows;
    Vector<std::int32_t> slots(X.n_cols);
    rows.assign(X, nullptr, X.n_rows, options.bias, slots);
    PerWorker<SparseBlockSolver> solvers(context, [] { return SparseBlockSolver(); });
    // build_rows fills whole grains in order: a block is solved when its first label is requested.
    return build_rows(context, n_labels, X.n_cols + 1, kLanes,
                      [&](std::int64_t label, RowBlock& block, unsigned worker) {
                          SparseBlockSolver& solver = solvers[worker];
                          const std::int64_t lane = label % kLanes;
                          if (lane == 0) {
                              const auto item =
                                  static_cast<std::uint64_t>((first + label) / kLanes);
                              const std::int64_t end = std::min(label + kLanes, n_labels);
                              solver.solve(context, rows, positives, label, end, item, options);
                          }
                          solver.collect(lane, options, X.n_cols, block);
                      });
}

}  // namespace defrag
