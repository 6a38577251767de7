// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "core/base/csr.hpp"
#include "core/base/parallel.hpp"
#include "core/label_tree/node_points.hpp"
#include "core/label_tree/shape.hpp"
#include "core/label_tree/weights.hpp"
#include "core/solver/solver.hpp"

namespace defrag {

/// The points of the root, for further calls with the same data, tree and options that train other
/// blocks of it.
struct RootPoints {
    std::shared_ptr<NodePoints> points;
};

/// Trains the classifiers of some blocks, each on the points that have a label of its node and
/// those that `negatives` adds to it; a point is positive for an output if it has a label below it.
/// `positives` has one row per label: the points that have it. `negatives` has one list per node,
/// or none at all; `weights` one number per row of X, or null. Rows of X are not normalised. Node i
/// of the result is items[i], with outputs numbered as in the whole node. A block depends only on
/// the data, the tree and the options, so that blocks can be trained in several processes. Throws
/// std::invalid_argument if an item is not in the tree or a negative is not a row. Memory: twice
/// the result, and per thread the working set of one node, whose rows lie in `storage` if they are
/// many. The points of the root are taken from `root`, or left there.
LabelTreeWeights train_label_tree(const Context& context, const CsrView& X,
                                  const CsrView& positives, const LabelTreeShape& tree,
                                  const PointListsView& negatives, const SolverOptions& options,
                                  const Vector<NodeBlocks>& items, const float* weights = nullptr,
                                  Storage* storage = nullptr, RootPoints* root = nullptr);

}  // namespace defrag
