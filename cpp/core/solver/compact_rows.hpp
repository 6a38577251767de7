// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <numeric>

#include "core/base/aligned.hpp"
#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/base/random.hpp"

namespace defrag {

/// Number of problems solved side by side: one cache line of float32 weights.
constexpr std::int64_t kLanes = 16;

/// A non-zero of a compact row: the byte offset of its line of weights, and its value.
struct Entry {
    std::uint32_t offset;
    float value;
};

/// Where the rows that CompactRows copies go, and the runs that they are divided into.
struct RowLayout {
    static constexpr std::int64_t kStride = 4;

    Vector<std::int32_t> place_of_row;  // by row of X; empty: in the given order
    Vector<std::int64_t> runs;          // where runs begin and the last one ends; empty: one run

    std::int64_t place(std::int64_t i, std::int64_t row) const {
        return place_of_row.empty() ? i : place_of_row[row];
    }

    /// Returns the number of entries of a copied row of n entries, with the bias.
    static std::int64_t size_of_row(std::int64_t n) { return (n + kStride) / kStride * kStride; }

    /// Deals the rows row_of(i) of X, for i below n, at random into runs of about `run_entries`
    /// entries of 8 bytes, dual variables included. In a run they stay in order.
    template <class RowOf>
    void deal(const CsrView& X, std::int64_t n, RowOf row_of, std::int64_t run_entries,
              const Stream& stream) {
        constexpr std::int64_t kDuals = kLanes * sizeof(float) / sizeof(Entry);
        std::int64_t n_entries = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            n_entries += size_of_row(X.end(row_of(i)) - X.begin(row_of(i))) + kDuals;
        }
        const std::int64_t n_runs = 1 + n_entries / std::max<std::int64_t>(run_entries, 1);
        place_of_row.resize_for_overwrite(X.n_rows);
        runs.assign(n_runs + 1, 0);
        // The same numbers are drawn twice, first to count.
        const auto run_of = [n_runs](Stream& s) { return n_runs == 1 ? 0 : s.below(n_runs); };
        Stream first = stream;
        for (std::int64_t i = 0; i < n; ++i) ++runs[1 + run_of(first)];
        std::partial_sum(runs.begin(), runs.end(), runs.begin());
        Vector<std::int64_t> next = runs;
        Stream second = stream;
        for (std::int64_t i = 0; i < n; ++i) {
            place_of_row[row_of(i)] = static_cast<std::int32_t>(next[run_of(second)]++);
        }
    }
};

/// The rows of one node, copied once so that the solver streams over contiguous memory. Features
/// are numbered by first appearance: frequent ones come early, so their weights share few pages.
/// The numbers have no influence on the weights. Slot 0 is the bias, which is the first entry of
/// every row. Rows are padded with zeros to a multiple of kStride, so that the inner loop needs no
/// remainder. Rows lie in runs, one unless a layout divides them: the solver visits run after run,
/// so that only the run in work must be in memory.
class CompactRows {
 public:
    static constexpr std::int64_t kStride = RowLayout::kStride;

    explicit CompactRows(Storage* storage = nullptr) : entries_(storage) {}

    /// Throws std::invalid_argument if X has too many features for 32-bit byte offsets.
    static void check_width(const CsrView& X);

    /// Copies rows[0..n_rows) of X, or all of X if `rows` is null. O(non-zeros copied). `slots` is
    /// scratch of X.n_cols zeros and is zero again on return. Reads X in the given order and writes
    /// every run in order, so that neither must be in memory.
    void assign(const CsrView& X, const std::int32_t* rows, std::int64_t n_rows, float bias,
                Vector<std::int32_t>& slots, const RowLayout& layout = {});

    /// Gives the loss of every row, after assign(), the weight of its row of X; null: all 1.
    void weigh(const float* weights, const std::int32_t* rows = nullptr,
               const RowLayout& layout = {});

    /// Copies rows[0..n_rows) of X, L2-normalised, or all of X if `rows` is null, with all threads.
    /// Features are numbered by frequency.
    void assign_unit_rows(const Context& context, const CsrView& X, const std::int64_t* rows,
                          std::int64_t n_rows, float bias, const RowLayout& layout);

    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t n_runs() const { return runs_.size() - 1; }
    /// Run i is the rows [runs()[i], runs()[i + 1]).
    const std::int64_t* runs() const { return runs_.data(); }
    /// Number of lines of weights: one per feature that occurs, and the bias.
    std::int64_t n_slots() const { return features_.size(); }
    /// The feature of a slot >= 1.
    std::int32_t feature(std::int64_t slot) const { return features_[slot]; }
    float bias() const { return bias_; }

    const Entry* entries() const { return entries_.data(); }
    /// Tells the storage that a run is needed soon, or now.
    void fetch(std::int64_t run, bool now) const {
        entries_.fetch(starts_[runs_[run]], starts_[runs_[run + 1]], now);
    }
    /// Tells it that a run is not needed until the next pass; `others` are the bytes used besides.
    void drop(std::int64_t run, std::int64_t others) const {
        entries_.drop(starts_[runs_[run]], starts_[runs_[run + 1]], others);
    }
    /// Row r is entries [starts[r], starts[r + 1]).
    const std::int64_t* starts() const { return starts_.data(); }
    /// Squared norm of every row, including the bias.
    const float* norms() const { return norms_.data(); }
    /// Weight of the loss of every row, or null if all are 1.
    const float* weights() const { return weights_.size() == 0 ? nullptr : weights_.data(); }
    double weight(std::int64_t row) const {
        return weights_.size() == 0 ? 1.0 : static_cast<double>(weights_[row]);
    }

 private:
    void start_runs(std::int64_t n_rows, const RowLayout& layout);

    std::int64_t n_rows_ = 0;
    float bias_ = 0.0F;
    AlignedBuffer<Entry> entries_;
    Vector<std::int64_t> runs_{0, 0};
    Vector<std::int64_t> starts_;
    Vector<float> norms_;
    Vector<float> weights_;
    Vector<std::int32_t> features_;
};

}  // namespace defrag
