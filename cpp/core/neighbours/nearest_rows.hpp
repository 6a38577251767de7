// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/neighbours/dense.hpp"

namespace defrag {

/// The rows to search, as panels; see dense_rows.hpp.
struct RowPanels {
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    const float* lines = nullptr;  // [(n_rows + 15) / 16][n_cols][kPanelRows]
    const float* bias = nullptr;   // [n_rows], initial value of each score; null: zero

    std::int64_t n_panels() const { return (n_rows + kPanelRows - 1) / kPanelRows; }
};

/// Copies rows into panels; `lines` has room for (n_rows + 15) / 16 * n_cols * 16 numbers.
void pack_panels(const DenseView& rows, float* lines);

/// Finds, for each query, the exact n_best rows with the highest bias + <query, row>, best first,
/// ties going to the smaller row number. Writes ids and scores as [query][n_best], with -1 and 0
/// where there are fewer rows. A bias of -|row|^2 / 2 gives Euclidean neighbours. The result of a
/// query does not depend on the other queries.
/// O(queries * rows * cols / 16) time; 8 bytes of memory per query and neighbour.
void nearest_rows(const Context& context, const DenseView& queries, const RowPanels& rows,
                  std::int64_t n_best, std::int32_t* ids, float* scores,
                  Instructions instructions = Instructions::kBest);

/// Ranks the labels of neighbours: the score of a label is the sum of the weights of the neighbours
/// that have it, added in the order of the neighbours. `neighbours` and `weights` are
/// [row][n_neighbours], -1 for none; `Y` has the labels of each neighbour. Writes the top_k labels
/// of each row, ties going to the smaller label, with -1 and 0 where there are fewer.
/// O(v log v) for the v labels of a row's neighbours; 16 v bytes of memory per thread.
void rank_votes(const Context& context, std::int64_t n_rows, std::int64_t n_neighbours,
                const std::int32_t* neighbours, const float* weights, const CsrView& Y,
                std::int64_t top_k, std::int32_t* labels, float* scores);

}  // namespace defrag
