// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest/fastxml.hpp"

#include <algorithm>

namespace defrag {
namespace {

class FastxmlSplitter : public NodeSplitter {
 public:
    FastxmlSplitter(const CsrView& X, const CsrView& Y, const float* label_weights,
                    const FastxmlOptions& options)
        : X_(X), options_(options), sides_(Y, label_weights, options.sides), solver_(X.n_cols) {}

    bool split(const NodePoints& node, NodeCut& cut) override {
        if (!sides_.find(node.points, node.key, side_)) return false;
        const auto n = static_cast<double>(node.points.size());
        const auto n_positive = static_cast<double>(std::count(side_.begin(), side_.end(), 1));
        SparseLogisticOptions solver = options_.solver;
        solver.positive_cost = options_.cost * n / n_positive;
        solver.negative_cost = options_.cost * n / (n - n_positive);
        solver_.solve(X_, node.points.data(), node.points.size(), side_.data(), solver, separator_);
        return send(node, cut);
    }

 private:
    /// Assigns every point to a side by the sign of its margin; returns false if all go to one
    /// side.
    bool send(const NodePoints& node, NodeCut& cut) {
        std::int64_t n_second = 0;
        for (const double margin : solver_.margins()) {
            cut.child.push_back(margin >= 0.0 ? 0 : 1);
            n_second += margin >= 0.0 ? 0 : 1;
        }
        if (n_second == 0 || n_second == node.points.size()) return false;
        cut.n_children = 2;
        cut.slots = separator_.features;
        cut.weights = separator_.weights;
        cut.bias = separator_.bias;
        return true;
    }

    const CsrView& X_;
    const FastxmlOptions& options_;
    LabelSides sides_;
    SparseLogistic solver_;
    Separator separator_;
    Vector<std::uint8_t> side_;
};

}  // namespace

Forest train_fastxml(const Context& context, const CsrView& X, const CsrView& Y,
                     const float* label_weights, const FastxmlOptions& options) {
    const auto make = [&] {
        return std::make_unique<FastxmlSplitter>(X, Y, label_weights, options);
    };
    Forest forest = grow_forest(context, Y, label_weights, make, options.growth);
    forest.features = renumber(forest.slots, X.n_cols);
    return forest;
}

}  // namespace defrag
