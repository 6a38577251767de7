// SPDX-License-Identifier: BSD-3-Clause
#include "core/solver/solver.hpp"

#include <algorithm>

#include "core/base/bitset.hpp"

namespace defrag {
namespace {

// If the share of rows with a positive lane exceeds this, the first pass visits all rows.
constexpr double kPositivesFirst = 0.7;
// A run of which a smaller share than one in so many is visited is not read as a whole.
constexpr std::int64_t kShareFetched = 4;

/// Fisher-Yates with a multiplication for the bounded integer: two draws from every random word and
/// no division. The bias of n / 2^32 is irrelevant to a visiting order.
template <class Item>
void shuffle(Stream& stream, Item* items, std::int64_t n_items) {
    std::uint64_t word = 0;
    for (std::int64_t i = n_items - 1; i > 0; --i) {
        word = (i & 1) != 0 || word == 0 ? stream.next() : word >> 32;
        const std::uint64_t j = ((word & 0xFFFFFFFFU) * (static_cast<std::uint64_t>(i) + 1)) >> 32;
        std::swap(items[i], items[static_cast<std::int64_t>(j)]);
    }
}

}  // namespace

void BlockSolver::start(const CompactRows& rows, std::int64_t n_lanes) {
    rows_ = &rows;
    n_lanes_ = n_lanes;
    n_marked_ = 0;
    memory_.start(rows);
    std::fill(positives_, positives_ + kLanes, 0.0);
}

void BlockSolver::mark(std::int64_t lane, std::int64_t row) {
    const unsigned before = memory_.mark(lane, row);
    n_marked_ += before == 0 ? 1 : 0;
    if ((before & 1U << lane) == 0) positives_[lane] += rows_->weight(row);
}

Pass BlockSolver::make_pass(const SolverOptions& options) {
    const std::int64_t n_rows = rows_->n_rows();
    order_.resize(n_rows);
    double total = 0.0;
    for (std::int64_t row = 0; row < n_rows; ++row) total += rows_->weight(row);
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const double share = n_rows == 0 ? 0.0 : positives_[lane] / total;
        // A lane without a problem is far on the correct side of every margin, so its dual
        // variables stay 0.
        const double unused = options.loss == Loss::kLogistic ? -1e4 : -2.0;
        memory_.offsets[lane] = static_cast<float>(lane >= n_lanes_ ? unused
                                                   : options.offset ? 2.0 * share - 1.0
                                                                    : 0.0);
    }
    Pass pass = memory_.make_pass(*rows_, options.cost, options.skip);
    pass.shrink = options.shrink;
    return pass;
}

void BlockSolver::select_rows(bool positives_only) {
    runs_.clear();
    std::int64_t n_listed = 0;
    for (std::int64_t run = 0; run < rows_->n_runs(); ++run) {
        const std::int64_t begin = n_listed;
        for (std::int64_t row = rows_->runs()[run]; row < rows_->runs()[run + 1]; ++row) {
            if (positives_only && memory_.signs[row] == 0) continue;
            order_[n_listed++] = static_cast<std::int32_t>(row);
        }
        runs_.push_back({run, {begin, n_listed}});
    }
}

/// Has the rows of a run read from files, unless few of them are visited.
void BlockSolver::fetch(const Run& run, bool now) const {
    const std::int64_t* ends = rows_->runs() + run.id;
    if (kShareFetched * run.listed.size() < ends[1] - ends[0]) return;
    rows_->fetch(run.id, now);
    memory_.dual.fetch(ends[0] * kLanes, ends[1] * kLanes, now);
}

/// One pass over the list, from which it removes rows.
void BlockSolver::visit_rows(const Context& context, RunPass run_pass, Pass& pass, Stream& stream) {
    float highest[kLanes] = {};
    float lowest[kLanes] = {};
    const std::int64_t n_dual_bytes = rows_->n_rows() * kLanes * std::int64_t{sizeof(float)};
    shuffle(stream, runs_.data(), runs_.size());
    for (std::int64_t i = 0; i < runs_.size(); ++i) {
        context.check();
        if (i + 1 < runs_.size()) fetch(runs_[i + 1], false);
        fetch(runs_[i], true);
        Range& listed = runs_[i].listed;
        pass.rows = order_.data() + listed.begin;
        pass.n_rows = listed.size();
        shuffle(stream, pass.rows, pass.n_rows);
        listed.end = listed.begin + run_pass(pass);
        if (runs_.size() > 1) rows_->drop(runs_[i].id, n_dual_bytes);
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            highest[lane] = std::max(highest[lane], pass.highest[lane]);
            lowest[lane] = std::min(lowest[lane], pass.lowest[lane]);
        }
    }
    std::copy(highest, highest + kLanes, pass.highest);
    std::copy(lowest, lowest + kLanes, pass.lowest);
}

bool BlockSolver::within(const Pass& pass, double tolerance) {
    bool all = true;
    for (std::int64_t lane = 0; lane < n_lanes_; ++lane) {
        reports_[lane].violation =
            static_cast<double>(pass.highest[lane]) - static_cast<double>(pass.lowest[lane]);
        reports_[lane].converged = tolerance > 0.0 && reports_[lane].violation <= tolerance;
        all = all && reports_[lane].converged;
    }
    return all;
}

void BlockSolver::solve(const Context& context, const SolverOptions& options, std::uint64_t item) {
    std::fill(reports_, reports_ + kLanes, LaneReport());
    Pass pass = make_pass(options);
    const RunPass run_pass = select_pass(options.loss, options.instructions);
    Stream stream(options.seed, Stage::kSolver, item);
    const std::int64_t n_rows = rows_->n_rows();
    const auto n_listed = [this] {
        std::int64_t total = 0;
        for (const Run& run : runs_) total += run.listed.size();
        return total;
    };
    bool positives_only = n_marked_ > 0 && static_cast<double>(n_marked_) <
                                               kPositivesFirst * static_cast<double>(n_rows);
    bool complete = !positives_only;  // whether the list contains every row
    bool visited_all = false;
    select_rows(positives_only);
    std::int64_t passes = 0;
    while (passes < options.max_passes) {
        visited_all = complete;
        pass.settle = options.settle > 0 && passes >= options.settle;
        visit_rows(context, run_pass, pass, stream);
        ++passes;
        const bool done = within(pass, options.tolerance);
        if (positives_only || (done && !complete)) {
            positives_only = false;
            complete = true;
            select_rows(false);
            continue;
        }
        if (done) break;
        if (options.restore > 0 && passes % options.restore == 0) select_rows(false);
        complete = n_listed() == n_rows;
    }
    for (std::int64_t lane = 0; lane < n_lanes_; ++lane) {
        reports_[lane].passes = passes;
        // Gradients measured on part of the rows do not prove convergence.
        reports_[lane].converged = reports_[lane].converged && visited_all;
    }
    if (options.measure) measure(options);
}

void BlockSolver::measure(const SolverOptions& options) {
    double losses[kLanes] = {};
    double duals[kLanes] = {};
    double norms[kLanes] = {};
    for (std::int64_t row = 0; row < rows_->n_rows(); ++row) {
        double scores[kLanes];
        std::copy(memory_.offsets, memory_.offsets + kLanes, scores);
        for (std::int64_t e = rows_->starts()[row]; e < rows_->starts()[row + 1]; ++e) {
            const Entry& entry = rows_->entries()[e];
            const float* line = memory_.weights.data() + entry.offset / sizeof(float);
            for (std::int64_t lane = 0; lane < kLanes; ++lane) {
                scores[lane] += static_cast<double>(line[lane]) * static_cast<double>(entry.value);
            }
        }
        const double importance = rows_->weight(row);
        for (std::int64_t lane = 0; lane < n_lanes_; ++lane) {
            const double y = (memory_.signs[row] >> lane & 1) != 0 ? 1.0 : -1.0;
            const double alpha = y * static_cast<double>(memory_.dual.data()[row * kLanes + lane]);
            losses[lane] += importance * loss_value(options.loss, y * scores[lane]);
            duals[lane] += dual_value(options.loss, alpha, options.cost * importance) -
                           alpha * y * static_cast<double>(memory_.offsets[lane]);
        }
    }
    for (std::int64_t i = 0; i < rows_->n_slots() * kLanes; ++i) {
        const auto weight = static_cast<double>(memory_.weights.data()[i]);
        norms[i % kLanes] += weight * weight;
    }
    for (std::int64_t lane = 0; lane < n_lanes_; ++lane) {
        reports_[lane].primal = 0.5 * norms[lane] + options.cost * losses[lane];
        reports_[lane].dual = duals[lane] - 0.5 * norms[lane];
    }
}

void BlockSolver::collect(const SolverOptions& options, BlockWeights& out) {
    for (std::int64_t lane = 0; lane < n_lanes_; ++lane) {
        out.bias[lane] = rows_->bias() * memory_.weights.data()[lane] + memory_.offsets[lane];
    }
    large_.resize(rows_->n_slots());
    select_find_large(options.instructions)(memory_.weights.data(), rows_->n_slots(),
                                            options.threshold, large_.data());
    const unsigned in_use = (1U << n_lanes_) - 1U;
    std::int64_t n_kept = 0;
    for (std::int64_t slot = 1; slot < rows_->n_slots(); ++slot) {
        n_kept += count_ones(large_[slot] & in_use);
    }
    out.slots.resize(n_kept);
    out.lanes.resize(n_kept);
    out.weights.resize(n_kept);
    std::int64_t place = 0;
    for (std::int64_t slot = 1; slot < rows_->n_slots(); ++slot) {
        const float* line = memory_.weights.data() + slot * kLanes;
        for (unsigned kept = large_[slot] & in_use; kept != 0; kept &= kept - 1) {
            const int lane = __builtin_ctz(kept);
            out.slots[place] = static_cast<std::int32_t>(slot);
            out.lanes[place] = static_cast<std::uint8_t>(lane);
            out.weights[place++] = line[lane];
        }
    }
}

}  // namespace defrag
