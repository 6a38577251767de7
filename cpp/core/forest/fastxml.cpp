// SPDX-License-Identifier: BSD-3-Clause
#include "core/forest/fastxml.hpp"

#include <algorithm>

#include "core/agglomeration/ndcg.hpp"
#include "core/base/random.hpp"

namespace defrag {

LabelSides::LabelSides(const CsrView& Y, const float* label_weights,
                       const LabelSidesOptions& options)
    : Y_(Y), label_weights_(label_weights), options_(options), slots_(Y.n_cols, -1) {}

bool LabelSides::find(const Vector<std::int32_t>& points, std::uint64_t key,
                      Vector<std::uint8_t>& side) {
    copy_labels(points);
    // All points have all labels that occur, so no ranking can separate them.
    if (labels_.size() == seen_.size() * points.size()) return false;
    Stream stream(key, Stage::kForest, 0);
    side.resize(points.size());
    for (std::uint8_t& one : side) one = static_cast<std::uint8_t>(stream.next() >> 63);
    double before = -1.0;
    for (int round = 0; round < options_.max_rounds; ++round) {
        const double gain = rank_labels(side) / static_cast<double>(points.size());
        if (gain - before < options_.tolerance) break;
        before = gain;
        choose_sides(side);
    }
    const auto n_first = std::count(side.begin(), side.end(), side.empty() ? 0 : side.front());
    return n_first < static_cast<std::ptrdiff_t>(side.size());
}

/// Copies the labels of the points with their gains, renumbered by occurrence.
void LabelSides::copy_labels(const Vector<std::int32_t>& points) {
    starts_.assign(1, 0);
    labels_.clear();
    gains_.clear();
    seen_.clear();
    for (const std::int32_t point : points) {
        double ideal = options_.normalized ? 0.0 : 1.0;
        for (auto p = Y_.begin(point); options_.normalized && p < Y_.end(point); ++p) {
            ideal += discount(p - Y_.begin(point));
        }
        for (auto p = Y_.begin(point); p < Y_.end(point); ++p) {
            const std::int32_t label = Y_.indices[p];
            if (slots_[label] < 0) {
                slots_[label] = static_cast<std::int32_t>(seen_.size());
                seen_.push_back(label);
            }
            labels_.push_back(slots_[label]);
            gains_.push_back(
                static_cast<float>(static_cast<double>(label_weights_[label]) / ideal));
        }
        starts_.push_back(labels_.size());
    }
    for (const std::int32_t label : seen_) slots_[label] = -1;
}

/// Ranks the labels of each side; returns the total gain of all points.
double LabelSides::rank_labels(const Vector<std::uint8_t>& side) {
    for (auto& sums : sums_) sums.assign(seen_.size(), 0.0);
    for (std::int64_t i = 0; i < side.size(); ++i) {
        Vector<double>& sums = sums_[side[i]];
        for (auto p = starts_[i]; p < starts_[i + 1]; ++p) {
            sums[labels_[p]] += static_cast<double>(gains_[p]);
        }
    }
    direction_.assign(seen_.size(), 0.0F);
    return add_discounts(sums_[1], 1.0F, direction_, ranking_) +
           add_discounts(sums_[0], -1.0F, direction_, ranking_);
}

void LabelSides::choose_sides(Vector<std::uint8_t>& side) const {
    for (std::int64_t i = 0; i < side.size(); ++i) {
        double score = 0.0;
        for (auto p = starts_[i]; p < starts_[i + 1]; ++p) {
            score += static_cast<double>(gains_[p]) * static_cast<double>(direction_[labels_[p]]);
        }
        if (score != 0.0) side[i] = score > 0.0 ? 1 : 0;
    }
}

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
