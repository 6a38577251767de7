// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/ranking.hpp"
#include "core/base/schedule.hpp"

namespace defrag {

/// A visit of a row to a node.
struct Visit {
    std::int32_t node;
    std::int32_t row;        // in the batch
    float score;             // of the node
    float bound = kNoBound;  // outputs below it are of no use
    std::int64_t place = 0;  // among the visits ordered by node
};

/// Orders visits by node, then by row, and sets their places. The `n_ranges` lists are those of
/// consecutive ranges of rows, each in row order, so many visits are sorted by counting, which
/// takes a few nanoseconds per visit instead of about fifty for a comparison sort.
void order_by_node(const Crew& crew, Vector<Visit>* ranges, std::int64_t n_ranges,
                   Vector<Visit>& ordered);

/// Returns the end of the run of visits to one node that begins at `begin`.
inline std::int64_t end_of_node(const Vector<Visit>& ordered, std::int64_t begin) {
    std::int64_t end = begin;
    while (end < ordered.size() && ordered[end].node == ordered[begin].node) ++end;
    return end;
}

/// The visits of one step of a search. The rows of the batch are divided among the threads.
class Visits {
 public:
    Visits(const Crew& crew, std::int64_t n_rows)
        : crew_(crew), n_rows_(n_rows), ranges_(crew.size()) {}

    const Crew& crew() const { return crew_; }
    std::int64_t n_rows() const { return n_rows_; }
    bool empty() const { return ordered_.empty(); }
    /// All visits, ordered by node, then by row.
    const Vector<Visit>& ordered() const { return ordered_; }

    /// Calls body(row, worker) for all rows of the batch.
    template <class Body>
    void each_row(Body body) const {
        crew_.each(crew_.size(), [&](std::int64_t range, unsigned worker) {
            each_row_of(range, [&](std::int64_t row) { body(row, worker); });
        });
    }

    /// Replaces the visits; choose(row, visits) appends those of one row.
    template <class Choose>
    void choose(Choose choose) {
        crew_.each(crew_.size(), [&](std::int64_t range, unsigned) {
            Vector<Visit> visits = std::move(ranges_[range]);
            visits.clear();
            each_row_of(range, [&](std::int64_t row) { choose(row, visits); });
            ranges_[range] = std::move(visits);
        });
        order_by_node(crew_, ranges_.data(), ranges_.size(), ordered_);
    }

    /// Calls body(row, begin, end, worker) for the rows that have visits, [begin, end).
    template <class Body>
    void each_row_with_visits(Body body) const {
        crew_.each(crew_.size(), [&](std::int64_t range, unsigned worker) {
            const Vector<Visit>& visits = ranges_[range];
            for (std::int64_t begin = 0, end = 0; begin < visits.size(); begin = end) {
                while (end < visits.size() && visits[end].row == visits[begin].row) ++end;
                body(visits[begin].row, visits.data() + begin, visits.data() + end, worker);
            }
        });
    }

 private:
    template <class Body>
    void each_row_of(std::int64_t range, Body body) const {
        const auto [begin, end] = part_of(n_rows_, range, crew_.size());
        for (std::int64_t row = begin; row < end; ++row) body(row);
    }

    Crew crew_;
    std::int64_t n_rows_;
    Vector<Vector<Visit>> ranges_;  // the visits of each range of rows
    Vector<Visit> ordered_;
};

}  // namespace defrag
