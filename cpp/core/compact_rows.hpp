// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/aligned.hpp"
#include "core/csr.hpp"

namespace defrag {

/// How many problems are solved side by side: one cache line of float32 weights.
constexpr std::int64_t kLanes = 16;

/// A non-zero of a compact row: where its line of weights begins, in bytes, and its value.
struct Entry {
    std::uint32_t offset;
    float value;
};

/// The rows of one node, copied once so that the solver walks over memory that holds
/// nothing else. Features are numbered by first appearance (frequent ones come early, so
/// their weights share few pages); slot 0 is the bias, which is the first entry of every
/// row. Rows are filled up with zeros to a multiple of kStride, so that the inner loop
/// needs no remainder.
class CompactRows {
 public:
    static constexpr std::int64_t kStride = 4;

    /// Throws std::invalid_argument when X has too many features for the offsets of entries.
    static void check_width(const CsrView& X);

    /// Copies rows[0..n_rows) of X, or all of X when `rows` is null. O(non-zeros copied).
    /// `slots` is scratch of X.n_cols zeros, and is left so. `norms` are squared_norms(X, bias),
    /// or nothing where norms() is never called.
    void assign(const CsrView& X, const Vector<float>& norms, const std::int32_t* rows,
                std::int64_t n_rows, float bias, Vector<std::int32_t>& slots);

    std::int64_t n_rows() const { return n_rows_; }
    /// Lines of weights: one per feature that occurs, and the bias.
    std::int64_t n_slots() const { return features_.size(); }
    /// The feature behind a slot >= 1.
    std::int32_t feature(std::int64_t slot) const { return features_[slot]; }
    float bias() const { return bias_; }

    const Entry* entries() const { return entries_.data(); }
    /// Row r is entries [starts[r], starts[r + 1]).
    const std::int64_t* starts() const { return starts_.data(); }
    /// Squared norm of every row, the bias included.
    const float* norms() const { return norms_.data(); }

 private:
    std::int64_t n_rows_ = 0;
    float bias_ = 0.0F;
    AlignedBuffer<Entry> entries_;
    Vector<std::int64_t> starts_;
    Vector<float> norms_;
    Vector<std::int32_t> features_;
};

/// Squared norm of every row of X with the bias as one more feature: computed once for the
/// many times that a row is copied.
Vector<float> squared_norms(const CsrView& X, float bias);

}  // namespace defrag
