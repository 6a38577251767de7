// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/visitor.hpp"

#include <algorithm>

namespace defrag {
namespace {

constexpr std::int64_t kOutputsAtOnce = NodeScorer::kPanelsPerTurn * kLanes;
// Number of rows of a node that a thread takes at a time.
constexpr std::int64_t kRowsAtOnce = 256;

}  // namespace

Visitor::Visitor(const Context& context, const LabelTreeModel& model, const CsrView& X,
                 const EdgeScore& rule, Instructions instructions)
    : context_(context),
      model_(model),
      rule_(rule),
      score_margins_(select_score_margins(instructions)),
      find_best_(select_find_best(instructions)),
      scratch_(context, [&model, &X, instructions] { return Scratch(model, X, instructions); }),
      shared_(model, X) {}

void Visitor::visit(const Visits& visits, const std::int32_t* rows, Shortlists& lists) {
    if (visits.empty()) return;
    ordered_ = &visits.ordered();
    rows_ = rows;
    divide(visits);
    std::int64_t most_outputs = 0;
    for (const Vector<Range>* runs : {&alone_, &together_}) {
        for (const Range& run : *runs) {
            most_outputs =
                std::max(most_outputs, model_.tree.n_outputs((*ordered_)[run.begin].node));
        }
    }
    // Selecting more than kLanes is expensive, and done once per row instead of per visit.
    const std::int64_t capacity =
        lists.capacity() <= kLanes ? lists.capacity() : std::max(lists.capacity(), kOutputsAtOnce);
    found_.start(ordered_->size(), std::min(capacity, most_outputs));
    evaluate_all(visits);
    visits.each_row_with_visits(
        [&](std::int64_t row, const Visit* begin, const Visit* end, unsigned worker) {
            Selector& selector = scratch_[worker].selector;
            selector.clear();
            for (; begin != end; ++begin) selector.add(found_, begin->place);
            if (selector.size() == 0) return;
            selector.add(lists, row);
            selector.assign_to(lists, row);
        });
}

void Visitor::score_outputs(const Visits& visits, const std::int32_t* rows,
                            const Vector<std::int32_t>& outputs, Vector<float>& scores) {
    scores.resize_for_overwrite(outputs.size());
    if (visits.empty()) return;
    ordered_ = &visits.ordered();
    rows_ = rows;
    wanted_ = outputs.data();
    wanted_scores_ = scores.data();
    divide(visits);
    evaluate_all(visits);
    wanted_ = nullptr;
}

/// Evaluates the runs into which visits are divided.
void Visitor::evaluate_all(const Visits& visits) {
    for (const Range& run : together_) evaluate_together(run);
    visits.crew().each_largest_first(
        alone_.size(), [this](std::int64_t i) { return alone_[i].size(); },
        [this](std::int64_t i, unsigned worker) { evaluate(alone_[i], worker); });
}

/// Sets the runs of visits that threads evaluate together and alone.
void Visitor::divide(const Visits& visits) {
    alone_.clear();
    together_.clear();
    const Crew& crew = visits.crew();
    for (std::int64_t begin = 0, end = 0; begin < ordered_->size(); begin = end) {
        end = end_of_node(*ordered_, begin);
        const Range run{begin, end};
        if (crew.is_full_share(run.size(), ordered_->size()) &&
            scratch_[0].scorer.worth_unpacking(group_of(run, shared_rows_))) {
            together_.push_back(run);
        } else {
            crew.divide(run, ordered_->size(), alone_);
        }
    }
}

/// Returns the node of a run of visits and their rows of X, which are stored in `rows`.
Group Visitor::group_of(const Range& run, Vector<std::int32_t>& rows) const {
    rows.resize_for_overwrite(run.size());
    for (std::int64_t v = 0; v < rows.size(); ++v) {
        rows[v] = rows_[(*ordered_)[run.begin + v].row];
    }
    return {(*ordered_)[run.begin].node, rows.data(), rows.size()};
}

/// Returns a function that adds outputs to the list of a visit, given by its number in the run.
auto Visitor::lister(const Range& run, unsigned worker) {
    return [this, &run, &selector = scratch_[worker].selector](
               std::int64_t v, const Outputs& outputs, const float* margins) {
        list(run.begin + v, outputs, margins, selector);
    };
}

void Visitor::evaluate(const Range& run, unsigned worker) {
    Scratch& scratch = scratch_[worker];
    scratch.scorer.score(group_of(run, scratch.rows), lister(run, worker));
    context_.check();
}

/// Evaluates a node with all threads: they unpack it once for all of them, and divide its rows.
void Visitor::evaluate_together(const Range& run) {
    NodePanels panels(shared_, group_of(run, shared_rows_));
    NodeScorer::for_each_turn(model_.tree.n_outputs(panels.group().node), [&](const Panels& turn) {
        panels.unpack(turn, &context_);
        parallel_for(context_, run.size(), kRowsAtOnce,
                     [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                         scratch_[worker].scorer.score_unpacked(panels, {begin, end},
                                                                lister(run, worker));
                     });
    });
}

void Visitor::list(std::int64_t place, const Outputs& outputs, const float* margins,
                   Selector& selector) {
    const LabelTreeShape& tree = model_.tree;
    const std::int64_t node = (*ordered_)[place].node;
    if (wanted_ != nullptr) {
        const std::int64_t output = wanted_[place] - outputs.first;
        if (output < 0 || output >= outputs.count) return;
        wanted_scores_[place] =
            rule_.below((*ordered_)[place].score, margins[output], tree.is_leaf(node));
    } else if (tree.is_leaf(node)) {
        const std::int32_t* labels = tree.order + tree.begin[node];
        list_as(place, outputs, margins, [labels](std::int64_t o) { return labels[o]; }, selector);
    } else {
        const std::int64_t child = tree.first_child[node];
        const auto id_of = [child](std::int64_t o) { return static_cast<std::int32_t>(child + o); };
        list_as(place, outputs, margins, id_of, selector);
    }
}

/// Adds outputs of a node to the list of a visit; output o has the id id_of(o).
template <class Id>
void Visitor::list_as(std::int64_t place, const Outputs& outputs, const float* margins, Id id_of,
                      Selector& selector) {
    const Visit& visit = (*ordered_)[place];
    alignas(64) float scores[kOutputsAtOnce];
    std::int32_t positions[kOutputsAtOnce];
    for (std::int64_t first = 0; first < outputs.count; first += kOutputsAtOnce) {
        const std::int64_t n = std::min(kOutputsAtOnce, outputs.count - first);
        score(visit, margins + first, n, scores);
        const auto item_at = [&](std::int64_t position) {
            return Scored{scores[position], id_of(outputs.first + first + position)};
        };
        const float bound = std::max(visit.bound, found_.bound(place));
        if (bound == kNoBound && found_.size(place) + n <= found_.capacity()) {
            found_.add(place, n, item_at);
            continue;
        }
        const std::int64_t n_found = find_best_(scores, n, found_.capacity(), bound, positions);
        const auto best_at = [&](std::int64_t i) { return item_at(positions[i]); };
        if (found_.size(place) + n_found <= found_.capacity()) {
            found_.add(place, n_found, best_at);
        } else {
            selector.clear();
            selector.add(found_, place);
            selector.add(n_found, best_at);
            selector.assign_to(found_, place);
        }
    }
}

/// Writes the log scores of n outputs of the node of a visit.
void Visitor::score(const Visit& visit, const float* margins, std::int64_t n, float* scores) const {
    const bool leaf = model_.tree.is_leaf(visit.node);
    if (rule_.loss != Loss::kLogistic) {
        const float start = rule_.start(visit.score, leaf);
        return score_margins_(margins, n, start, rule_.power, scores);
    }
    for (std::int64_t i = 0; i < n; ++i) scores[i] = rule_.below(visit.score, margins[i], leaf);
}

}  // namespace defrag
