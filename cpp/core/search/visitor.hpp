// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/label_tree/model.hpp"
#include "core/search/node_scorer.hpp"
#include "core/search/rank_kernels.hpp"
#include "core/search/scores.hpp"
#include "core/search/shortlists.hpp"
#include "core/search/visits.hpp"

namespace defrag {

/// Evaluates nodes for the rows that visit them, each node once for all its rows, with all threads:
/// a node that would keep one thread busy to the end is evaluated by all of them together, others
/// by one each, the largest first. Reuses its memory from step to step and from batch to batch.
class Visitor {
 public:
    Visitor(const Context& context, const LabelTreeModel& model, const CsrView& X,
            const EdgeScore& rule, Instructions instructions);

    /// Evaluates the nodes of all visits, and adds the best outputs (children or labels, with their
    /// log scores) to the lists of the rows. Row r of the batch is row rows[r] of X.
    /// Outputs are first listed by visit, then by row: nodes that are evaluated concurrently have
    /// rows in common, and threads that write to the same lists would exchange cache lines all the
    /// time.
    void visit(const Visits& visits, const std::int32_t* rows, Shortlists& lists);

    /// Evaluates the nodes of all visits, and writes the log score of one output of each; outputs
    /// and scores are by the place of the visit.
    void score_outputs(const Visits& visits, const std::int32_t* rows,
                       const Vector<std::int32_t>& outputs, Vector<float>& scores);

 private:
    /// Memory that a thread reuses.
    struct Scratch {
        Scratch(const LabelTreeModel& model, const CsrView& X, Instructions instructions)
            : scorer(model, X, instructions), selector(instructions) {}

        NodeScorer scorer;
        Selector selector;
        Vector<std::int32_t> rows;
    };

    void evaluate_all(const Visits& visits);
    void divide(const Visits& visits);
    Group group_of(const Range& run, Vector<std::int32_t>& rows) const;
    void evaluate(const Range& run, unsigned worker);
    void evaluate_together(const Range& run);
    auto lister(const Range& run, unsigned worker);
    void list(std::int64_t place, const Outputs& outputs, const float* margins, Selector& selector);
    template <class Id>
    void list_as(std::int64_t place, const Outputs& outputs, const float* margins, Id id_of,
                 Selector& selector);
    void score(const Visit& visit, const float* margins, std::int64_t n, float* scores) const;

    const Context& context_;
    const LabelTreeModel& model_;
    const EdgeScore rule_;
    ScoreMargins score_margins_;
    FindBest find_best_;
    PerWorker<Scratch> scratch_;
    PanelMemory shared_;  // of a node that all threads evaluate together
    Vector<std::int32_t> shared_rows_;
    const Vector<Visit>* ordered_ = nullptr;  // the visits of this step
    const std::int32_t* rows_ = nullptr;
    const std::int32_t* wanted_ = nullptr;  // an output by visit, if only its score is wanted
    float* wanted_scores_ = nullptr;
    Vector<Range> alone_;     // visits of a node, or some of them, for one thread
    Vector<Range> together_;  // visits of a node, for all threads
    Shortlists found_;        // outputs of each visit
};

}  // namespace defrag
