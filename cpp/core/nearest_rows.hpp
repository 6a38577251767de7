// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/dense_rows.hpp"
#include "core/parallel.hpp"

namespace defrag {

/// Rows to search among, as panels; see dense_rows.hpp.
struct RowPanels {
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    const float* lines = nullptr;  // [(n_rows + 15) / 16][n_cols][kPanelRows]
    const float* bias = nullptr;   // [n_rows], where each score begins; null: at zero

    std::int64_t n_panels() const { return (n_rows + kPanelRows - 1) / kPanelRows; }
};

/// Copies rows into panels, `lines` having room for (n_rows + 15) / 16 * n_cols * 16 numbers.
void pack_panels(const DenseView& rows, float* lines);

/// For each query the n_best rows with the highest bias + <query, row>, ties to the smaller
/// number, best first, exactly: ids [query][n_best] and scores likewise, -1 and 0 where there
/// are fewer rows. Euclidean neighbours are those for a bias of -|row|^2 / 2. A query's result
/// does not depend on which others come with it.
/// O(queries * rows * cols / 16); memory: 8 bytes per query and neighbour.
void nearest_rows(const Context& context, const DenseView& queries, const RowPanels& rows,
                  std::int64_t n_best, std::int32_t* ids, float* scores,
                  Instructions instructions = Instructions::kBest);

/// Ranks the labels of neighbours: the score of a label is the sum of the weights of the
/// neighbours that have it, added in the order of the neighbours. `neighbours` and `weights`
/// are [row][n_neighbours], -1 for none; `Y` has the labels of each neighbour. Writes the top_k
/// labels of each row, ties to the smaller label, -1 and 0 where fewer.
/// O(v log v) for the v labels of a row's neighbours; memory: 16 v bytes per thread.
void rank_votes(const Context& context, std::int64_t n_rows, std::int64_t n_neighbours,
                const std::int32_t* neighbours, const float* weights, const CsrView& Y,
                std::int64_t top_k, std::int32_t* labels, float* scores);

}  // namespace defrag
