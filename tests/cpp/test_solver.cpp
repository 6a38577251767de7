// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cmath>

#include "core/solver/solver.hpp"

using namespace defrag;

namespace {

/// Three rows over five features, the last row empty.
struct Toy {
    Vector<std::int64_t> indptr{0, 2, 3, 3};
    Vector<std::int32_t> indices{1, 4, 4};
    Vector<float> data{1.0F, 2.0F, 3.0F};
    CsrView view() const { return {3, 5, indptr.data(), indices.data(), data.data()}; }
};

}  // namespace

TEST_CASE("compact rows begin with the bias, number features by appearance, end with zeros") {
    const Toy toy;
    CompactRows rows;
    Vector<std::int32_t> slots(5);
    const Vector<std::int32_t> chosen{1, 0, 2};
    rows.assign(toy.view(), chosen.data(), 3, 0.5F, slots);
    CHECK(rows.n_slots() == 3);
    CHECK(rows.feature(1) == 4);
    CHECK(rows.feature(2) == 1);
    CHECK(rows.starts()[3] == 12);
    CHECK(rows.entries()[0].value == 0.5F);
    CHECK(rows.entries()[1].offset == 64);
    CHECK(rows.entries()[1].value == 3.0F);
    CHECK(rows.entries()[2].value == 0.0F);
    CHECK(rows.entries()[5].offset == 128);
    CHECK(rows.norms()[1] == 5.25F);
    CHECK(rows.norms()[2] == 0.25F);
    for (const std::int32_t slot : slots) CHECK(slot == 0);
}

TEST_CASE("one point by hand: 0.5 w^2 + c (1 - w)^2 is smallest at 2 c / (1 + 2 c)") {
    const Vector<std::int64_t> indptr{0, 1};
    const Vector<std::int32_t> indices{0};
    const Vector<float> data{1.0F};
    const CsrView X{1, 1, indptr.data(), indices.data(), data.data()};
    const Context context(1);
    CompactRows rows;
    Vector<std::int32_t> slots(1);
    rows.assign(X, nullptr, 1, 0.0F, slots);
    SolverOptions options;
    options.offset = false;
    options.threshold = 0.0F;
    options.cost = 2.0;
    BlockSolver solver;
    BlockWeights block;
    solver.start(rows, 2);
    solver.mark(1, 0);
    solver.solve(context, options, 0);
    solver.collect(options, block);
    REQUIRE(block.weights.size() == 2);
    CHECK(block.weights[0] == doctest::Approx(-0.8));
    CHECK(block.weights[1] == doctest::Approx(0.8));
}

TEST_CASE("a workspace remembers nothing of the block before") {
    const Toy toy;
    const Context context(1);
    CompactRows rows;
    Vector<std::int32_t> slots(5);
    rows.assign(toy.view(), nullptr, 3, 0.3F, slots);
    SolverOptions options;
    options.threshold = 0.0F;
    BlockWeights fresh;
    BlockWeights used;
    for (const bool again : {false, true}) {
        BlockSolver solver;
        if (again) {
            solver.start(rows, 16);
            for (int lane = 0; lane < 16; ++lane) solver.mark(lane, lane % 3);
            solver.solve(context, options, 7);
        }
        solver.start(rows, 1);
        solver.mark(0, 1);
        solver.solve(context, options, 3);
        solver.collect(options, again ? used : fresh);
    }
    CHECK(fresh.slots == used.slots);
    CHECK(fresh.weights == used.weights);
    CHECK(fresh.bias[0] == used.bias[0]);
}

TEST_CASE("the best version is one that can run") {
    CHECK(can_run(Instructions::kBaseline));
    CHECK(can_run(Instructions::kBest));
    const bool found = select_pass(Loss::kLogistic, Instructions::kBest) != nullptr;
    CHECK(found);
    if (!can_run(Instructions::kAvx512)) {
        CHECK_THROWS_AS(select_pass(Loss::kLogistic, Instructions::kAvx512), std::invalid_argument);
    }
}
