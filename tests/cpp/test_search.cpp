// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/random.hpp"
#include "core/base/ranking.hpp"
#include "core/search/rank_kernels.hpp"
#include "core/search/visits.hpp"
#include "core/solver/compact_rows.hpp"

using namespace defrag;

TEST_CASE("nothing is kept where nothing is wanted") {
    std::int32_t size = 0;
    Best best(nullptr, &size, 0);
    best.offer({1.0F, 1});
    CHECK(size == 0);
}

TEST_CASE("the best scores are found, with few others, by all instruction sets") {
    for (const Instructions instructions :
         {Instructions::kBaseline, Instructions::kAvx2, Instructions::kAvx512}) {
        if (!can_run(instructions)) continue;
        const FindBest find_best = select_find_best(instructions);
        for (const std::int64_t n : {1, 5, 15, 16, 17, 64, 70, 200}) {
            for (const std::int64_t k : {1, 5, 10, 16, 30}) {
                for (const std::int64_t n_values : {3, 1000000}) {  // with and without many ties
                    Stream random(11, Stage::kTreeSplit, static_cast<std::uint64_t>(n * 100 + k));
                    AlignedBuffer<float> scores;
                    scores.require(n + kLanes);
                    for (std::int64_t i = 0; i < n; ++i) {
                        scores.data()[i] = -static_cast<float>(random.below(n_values));
                    }
                    std::vector<float> sorted(scores.data(), scores.data() + n);
                    std::sort(sorted.rbegin(), sorted.rend());
                    const float kth = sorted[static_cast<std::size_t>(std::min(k, n) - 1)];
                    const float bound = sorted[static_cast<std::size_t>(n / 2)];
                    for (const float least : {-std::numeric_limits<float>::infinity(), bound}) {
                        Vector<std::int32_t> found(n + kLanes);
                        const std::int64_t n_found =
                            find_best(scores.data(), n, k, least, found.data());
                        std::int64_t next = 0;
                        for (std::int64_t i = 0; i < n; ++i) {
                            const bool listed = next < n_found && found[next] == i;
                            const float score = scores.data()[i];
                            if (score >= least && score >= kth) CHECK(listed);
                            if (score < least) CHECK_FALSE(listed);
                            // Of one line, only those are left that are among the best.
                            if (n <= kLanes && k < n && score < kth) CHECK_FALSE(listed);
                            next += listed ? 1 : 0;
                        }
                        CHECK(next == n_found);
                    }
                }
            }
        }
    }
}

TEST_CASE("visits are ordered by node, then by row, however many there are") {
    for (const std::int64_t n_nodes : {1, 7, 1000}) {
        for (const std::int64_t n_rows : {0, 1, 20, 500}) {
            Vector<Visit> visits;
            for (std::int64_t row = 0; row < n_rows; ++row) {
                Stream stream(3, Stage::kTreeSplit, static_cast<std::uint64_t>(row));
                const auto node = stream.below(n_nodes);
                visits.push_back({static_cast<std::int32_t>(node), static_cast<std::int32_t>(row),
                                  static_cast<float>(row)});
            }
            Vector<Visit> ordered;
            const Context context(3);
            order_by_node(Crew(context, true), &visits, 1, ordered);
            REQUIRE(ordered.size() == visits.size());
            for (std::int64_t i = 1; i < ordered.size(); ++i) {
                const bool in_order = ordered[i - 1].node != ordered[i].node
                                          ? ordered[i - 1].node < ordered[i].node
                                          : ordered[i - 1].row < ordered[i].row;
                CHECK(in_order);
            }
            for (const Visit& visit : ordered) CHECK(visit.score == static_cast<float>(visit.row));
            for (const Visit& visit : visits) CHECK(ordered[visit.place].row == visit.row);
            // In three ranges of rows, and the ranges in any order.
            Vector<Vector<Visit>> ranges(3);
            for (const Visit& visit : visits) ranges[3 * visit.row / n_rows].push_back(visit);
            Vector<Visit> from_ranges;
            order_by_node(Crew(context), ranges.data(), 3, from_ranges);
            REQUIRE(from_ranges.size() == visits.size());
            for (const Vector<Visit>& range : ranges) {
                for (const Visit& visit : range) CHECK(from_ranges[visit.place].row == visit.row);
            }
            for (std::int64_t i = 0; i < ordered.size(); ++i) {
                CHECK(from_ranges[i].node == ordered[i].node);
                CHECK(from_ranges[i].row == ordered[i].row);
            }
        }
    }
}
