// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/base/random.hpp"
#include "core/solver/compact_rows.hpp"
#include "core/solver/losses.hpp"
#include "core/solver/pass.hpp"

namespace defrag {

/// The problem solved for every label l:
///   min_w 0.5 |w|^2 + cost * sum_i s_i loss(y_il (w.x_i + offset_l)),
/// where s_i > 0 is the weight of a row, 1 by default, and x_i ends with the bias feature. With
/// `offset`, the constant part is 2 p / m - 1 (p of the weight m of all rows is of positives);
/// together with a bias below 1, it reduces the number of passes needed. Without it, and with bias
/// = 1, this is the problem of LIBLINEAR and Parabel.
struct SolverOptions {
    Loss loss = Loss::kSquaredHinge;
    double cost = 1.0;
    float bias = 0.3F;
    bool offset = true;
    std::int64_t max_passes = 8;
    /// Stop when the projected gradients of a pass over all rows lie within this range; 0: never.
    double tolerance = 0.0;
    /// A row is shrunk (left out of later passes) when the dual variables of all its lanes are zero
    /// with gradients above this; infinity: never. Negative values also shrink rows that slightly
    /// violate a margin. Shrunk rows are restored before convergence is declared.
    float shrink = 0.0F;
    /// Interval, in passes, at which all rows are visited, including shrunk ones; 0: never.
    std::int64_t restore = 0;
    /// A row does not update the weights unless a dual variable moves by more than this.
    float skip = 1e-2F;
    /// From pass number `settle` on, counted from zero, a row that does not update the weights is
    /// also left out of later passes; 0: never. Most rows of a late pass are of this kind.
    std::int64_t settle = 0;
    /// Rows of a node with more entries in all, of 8 bytes, are dealt at random into runs of about
    /// this many, and a pass visits the runs in random order, one after another.
    std::int64_t run_entries = std::int64_t{1} << 25;
    /// Weights of at most this magnitude are dropped from the result.
    float threshold = 0.1F;
    /// Compute the objectives, which costs about as much as one pass.
    bool measure = false;
    std::uint64_t seed = 0;
    Instructions instructions = Instructions::kBest;
};

/// Statistics of the solution of one label.
struct LaneReport {
    std::int64_t passes = 0;
    bool converged = false;  // the tolerance was reached; always false without one
    double violation = 0.0;  // range of the projected gradients of the last pass
    double primal = 0.0;     // objectives, if SolverOptions::measure is set
    double dual = 0.0;
};

/// The weights of one block that exceed the threshold, ordered by slot, then by lane.
struct BlockWeights {
    Vector<std::int32_t> slots;
    Vector<std::uint8_t> lanes;
    Vector<float> weights;
    float bias[kLanes] = {};  // bias feature times its weight, plus the offset; never dropped
};

/// Solves up to kLanes problems that share their rows. Reuses its memory, so that one object per
/// thread serves thousands of nodes.
class BlockSolver {
 public:
    /// Dual variables lie in `storage` if they are many.
    explicit BlockSolver(Storage* storage = nullptr) : memory_(storage) {}

    /// Starts a block of n_lanes problems without positives; `rows` must outlive the block.
    void start(const CompactRows& rows, std::int64_t n_lanes);

    /// Marks a row as a positive of a lane; idempotent.
    void mark(std::int64_t lane, std::int64_t row);

    /// Runs dual coordinate descent from zero; `item` identifies the block in the random streams.
    void solve(const Context& context, const SolverOptions& options, std::uint64_t item);

    /// Fills `out` with the weights above the threshold.
    void collect(const SolverOptions& options, BlockWeights& out);

    /// One report per lane.
    const LaneReport* reports() const { return reports_; }

 private:
    /// Rows of a run that are on the list.
    struct Run {
        std::int64_t id;
        Range listed;
    };

    Pass make_pass(const SolverOptions& options);
    void select_rows(bool positives_only);
    void fetch(const Run& run, bool now) const;
    void visit_rows(const Context& context, RunPass run_pass, Pass& pass, Stream& stream);
    bool within(const Pass& pass, double tolerance);
    void measure(const SolverOptions& options);

    const CompactRows* rows_ = nullptr;
    std::int64_t n_lanes_ = 0;
    std::int64_t n_marked_ = 0;  // rows with a positive lane
    LaneMemory memory_;
    Vector<std::uint16_t> large_;  // bit mask of the lanes of each slot above the threshold
    Vector<std::int32_t> order_;   // the list of rows to visit, run by run
    Vector<Run> runs_;
    double positives_[kLanes] = {};  // sums of the weights of the positives of each lane
    LaneReport reports_[kLanes];
};

/// The solution of one-vs-rest problems for all labels.
struct FlatSolution {
    Csr weights;         // features x labels
    Vector<float> bias;  // per label
    Vector<LaneReport> reports;
};

/// Solves every label in blocks of kLanes, in parallel over blocks. `positives` has one row per
/// label: the rows of X that have it. Blocks are numbered from first_block on in the random
/// streams, so that labels can be split over several calls. `weights` has one per row of X, or is
/// null. Memory: a compact copy of X, and per thread (rows + features) * 64 bytes.
FlatSolution solve_blocks(const Context& context, const CsrView& X, const CsrView& positives,
                          const SolverOptions& options, std::int64_t first_block = 0,
                          const float* weights = nullptr);

}  // namespace defrag
