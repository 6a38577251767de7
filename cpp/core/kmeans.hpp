// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/instructions.hpp"
#include "core/parallel.hpp"

namespace defrag {

struct KMeansOptions {
    std::int64_t n_clusters = 100;
    /// A round that raises the mean similarity by less than this is the last.
    double tolerance = 1e-4;
    std::int64_t max_rounds = 100;
    std::uint64_t seed = 0;
    /// Names this clustering in the random streams, when one seed serves many.
    std::uint64_t item = 0;
    /// Centres are held in parts of at most this many bytes, and of sixteen at least.
    std::int64_t panel_bytes = std::int64_t{1} << 27;
    Instructions instructions = Instructions::kBest;
    /// The cluster that each item starts in, -1 for none, in place of random rows.
    const std::int32_t* starts = nullptr;
};

/// For every item the two centres that are most similar to it, -1 where no (further) one
/// has a similarity above zero.
struct KMeansResult {
    Vector<std::int32_t> cluster;
    Vector<std::int32_t> second;
    double objective = 0.0;  // mean similarity of an item to its centre, 0 if it has none
    std::int64_t n_rounds = 0;
};

/// Spherical k-means over sparse rows of length 1: starts from distinct random rows that are
/// not empty, at most n_clusters, or from the given clusters, and repeats: centre = direction of
/// the sum of its items, item = centre of the highest cosine, ties to the smaller number. An item
/// without a similarity above zero belongs to no cluster in that round, and a cluster may run
/// empty: what becomes of them is the caller's business. O(rounds * non-zeros * clusters / 16).
/// Memory: a compact copy of the items, and the centres as dense panels [sixteen
/// centres][coordinate], a bounded part at a time.
KMeansResult spherical_kmeans(const Context& context, const CsrView& items,
                              const KMeansOptions& options);

}  // namespace defrag
