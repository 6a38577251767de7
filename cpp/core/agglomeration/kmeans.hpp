// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/instructions.hpp"
#include "core/base/parallel.hpp"

namespace defrag {

struct KMeansOptions {
    std::int64_t n_clusters = 100;
    /// A round that increases the mean similarity by less than this is the last.
    double tolerance = 1e-4;
    std::int64_t max_rounds = 100;
    std::uint64_t seed = 0;
    /// Identifies this clustering in the random streams if several share a seed.
    std::uint64_t item = 0;
    /// Centres are processed in parts of at most this many bytes, but at least sixteen centres.
    std::int64_t panel_bytes = std::int64_t{1} << 27;
    Instructions instructions = Instructions::kBest;
    /// The initial cluster of each item, -1 for none; null: random rows.
    const std::int32_t* starts = nullptr;
};

/// The two most similar centres of every item, -1 if there is none with a similarity above zero.
struct KMeansResult {
    Vector<std::int32_t> cluster;
    Vector<std::int32_t> second;
    double objective = 0.0;  // mean similarity of an item to its centre, 0 if it has none
    std::int64_t n_rounds = 0;
};

/// Spherical k-means over sparse unit rows. Starts from at most n_clusters distinct random
/// non-empty rows, or from the given clusters, and repeats: centre = direction of the sum of its
/// items, item = centre with the highest cosine, ties going to the smaller number. An item without
/// a similarity above zero belongs to no cluster in that round, and a cluster may become empty; the
/// caller handles both.
/// O(rounds * non-zeros * clusters / 16) time. Memory: a compact copy of the items, and the centres
/// as dense panels [sixteen centres][coordinate], a bounded part at a time.
KMeansResult spherical_kmeans(const Context& context, const CsrView& items,
                              const KMeansOptions& options);

}  // namespace defrag
