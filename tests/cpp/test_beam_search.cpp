// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/random.hpp"
#include "core/base/ranking.hpp"
#include "core/label_tree/feature_index.hpp"
#include "core/search/rank_kernels.hpp"
#include "core/search/scores.hpp"
#include "core/search/shortlists.hpp"
#include "core/search/visits.hpp"

using namespace defrag;

TEST_CASE("the best are kept in order, in any order of offers") {
    const Vector<Scored> offered{{0.5F, 7}, {0.9F, 4}, {0.5F, 2}, {0.1F, 1}, {0.9F, 3}};
    for (std::int64_t start = 0; start < offered.size(); ++start) {
        Vector<Scored> items(3);
        std::int32_t size = 0;
        Best best(items.data(), &size, 3);
        for (std::int64_t i = 0; i < offered.size(); ++i) {
            best.offer(offered[(start + i) % offered.size()]);
        }
        CHECK(size == 3);
        CHECK(items[0].id == 3);
        CHECK(items[1].id == 4);
        CHECK(items[2].id == 2);
    }
}

TEST_CASE("many are kept as the best few are, and in order when asked for") {
    Stream random(7, Stage::kTreeSplit, 0);
    const std::int64_t capacity = kKeptInOrder + 60;
    std::vector<Scored> offered(1000);
    for (std::size_t i = 0; i < offered.size(); ++i) {
        offered[i] = {static_cast<float>(random.below(50)), static_cast<std::int32_t>(i)};
    }
    std::vector<Scored> sorted = offered;
    std::sort(sorted.begin(), sorted.end(), better);
    std::vector<Scored> items(static_cast<std::size_t>(capacity));
    std::int32_t size = 0;
    Best best(items.data(), &size, capacity);
    for (std::size_t i = 0; i < offered.size(); ++i) {
        best.offer(offered[i]);
        if (i + 1 == 150) {
            const Scored& worst = *std::max_element(offered.begin(), offered.begin() + 150, better);
            CHECK(best.worst().id == worst.id);
        }
    }
    CHECK(best.worst().id == sorted[static_cast<std::size_t>(capacity - 1)].id);
    best.put_in_order();
    CHECK(size == capacity);
    for (std::size_t i = 0; i < items.size(); ++i) CHECK(items[i].id == sorted[i].id);
}

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

TEST_CASE("scores of vectors of hinges have the bits of the rule, with all instruction sets") {
    Stream random(2, Stage::kTreeSplit, 0);
    AlignedBuffer<float> margins;
    AlignedBuffer<float> scores;
    margins.require(3 * kLanes);
    scores.require(3 * kLanes);
    for (std::int64_t i = 0; i < 3 * kLanes; ++i) {
        margins.data()[i] = static_cast<float>(random.below(4000) - 2000) / 700.0F;
    }
    margins.data()[7] = std::numeric_limits<float>::quiet_NaN();
    for (const Instructions instructions :
         {Instructions::kBaseline, Instructions::kAvx2, Instructions::kAvx512}) {
        if (!can_run(instructions)) continue;
        for (const int power : {2, 3}) {
            const EdgeScore rule{Loss::kSquaredHinge, 0.98, 0.4, power};
            const float parent = -1.37F;
            for (const bool leaf : {false, true}) {
                select_score_margins(instructions)(margins.data(), 41, rule.start(parent, leaf),
                                                   power, scores.data());
                for (std::int64_t i = 0; i < 41; ++i) {
                    CHECK(scores.data()[i] == rule.below(parent, margins.data()[i], leaf));
                }
            }
        }
    }
}

TEST_CASE("a selector leaves the best of any number of candidates, added in pieces") {
    Selector selector(Instructions::kBest);
    for (const std::int64_t capacity : {1, 5, 16, 17, 50, 128, 150}) {
        for (std::int64_t n = 1; n < 420; n += n < 100 ? 1 : 13) {
            for (const std::int64_t n_values : {4, 100000}) {  // with and without many ties
                Stream random(5, Stage::kTreeSplit,
                              static_cast<std::uint64_t>(n * 1000 + capacity));
                std::vector<Scored> items;
                for (std::int32_t id = 0; id < n; ++id) {
                    items.push_back({-static_cast<float>(random.below(n_values)), id});
                }
                selector.clear();
                Shortlists lists;
                lists.start(2, capacity);
                for (std::int64_t first = 0; first < n; first += 7) {
                    selector.add(std::min<std::int64_t>(7, n - first), [&](std::int64_t i) {
                        return items[static_cast<std::size_t>(first + i)];
                    });
                }
                selector.assign_to(lists, 1);
                CHECK(lists.size(0) == 0);
                REQUIRE(lists.size(1) == std::min(n, capacity));
                lists.put_in_order(1);
                std::sort(items.begin(), items.end(), better);
                for (std::int64_t i = 0; i < lists.size(1); ++i) {
                    CHECK(lists.items(1)[i].id == items[static_cast<std::size_t>(i)].id);
                }
            }
        }
    }
}

TEST_CASE("the index finds every feature of its node and no other") {
    Vector<std::int32_t> features;
    Vector<std::int64_t> feature_ptr{0};
    const auto add_node = [&](std::int32_t first, std::int32_t last, std::int32_t step) {
        for (std::int32_t f = first; f < last; f += step) features.push_back(f);
        feature_ptr.push_back(features.size());
    };
    add_node(0, 3000, 3);
    add_node(0, 0, 1);        // none
    add_node(1000, 1700, 1);  // dense
    add_node(7, 80000, 101);  // sparse: several features share a bit
    // One of many features that share a bit, so that it is found by bisection.
    for (std::int32_t f = 40; f < 70; ++f) features.push_back(f);
    add_node(79999, 80000, 1);
    add_node(80000, 80001, 1);
    const std::int64_t n_nodes = feature_ptr.size() - 1;
    const FeatureIndex index(feature_ptr.data(), features.data(), n_nodes);
    CHECK(index.n_nodes() == n_nodes);
    CHECK(index.n_features() == features.size());
    Vector<std::int32_t> row(80100);
    for (std::int64_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::int32_t>(i);
    Vector<FeatureIndex::Hit> hits(row.size());
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        const std::int64_t n_hits =
            index.find(node, features.data(), row.data(), row.size(), hits.data());
        REQUIRE(n_hits == feature_ptr[node + 1] - feature_ptr[node]);
        for (std::int64_t h = 0; h < n_hits; ++h) {
            const std::int64_t f = feature_ptr[node] + h;
            CHECK(row[hits[h].position] == features[f]);
            CHECK(hits[h].feature == f);
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
