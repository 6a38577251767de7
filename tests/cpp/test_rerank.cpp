// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cstdint>

#include "core/imputation/imputation.hpp"
#include "core/search/rerank.hpp"

using namespace defrag;

namespace {

/// Two groups, {0, 2} and {1}; feature 3 has none.
struct Groups {
    Vector<std::int32_t> groups{0, 1, 0, -1};
    Vector<std::int32_t> slots{0, 0, 1, -1};
    Vector<std::int64_t> member_ptr{0, 2, 3};
    Vector<std::int32_t> members{0, 2, 1};
    Vector<std::int64_t> entry_ptr{0, 4, 5};

    GroupLayout layout() const {
        return {
            2, groups.data(), slots.data(), member_ptr.data(), members.data(), entry_ptr.data()};
    }
};

Csr rows() {
    Csr matrix;
    matrix.n_cols = 4;
    matrix.indptr = {0, 3, 3, 5};
    matrix.indices = {0, 1, 2, 0, 3};
    matrix.data = {1.0F, 2.0F, 3.0F, 2.0F, 7.0F};
    return matrix;
}

}  // namespace

TEST_CASE("blocks hold the products of features of one group") {
    const Groups groups;
    const Csr matrix = rows();
    for (const unsigned threads : {1U, 2U, 3U}) {
        const Context context(threads);
        CHECK(co_occurrence(context, matrix.view(), groups.layout(), false) ==
              Vector<float>{5.0F, 3.0F, 3.0F, 9.0F, 4.0F});
        const Vector<float> cosine = co_occurrence(context, matrix.view(), groups.layout(), true);
        CHECK(cosine[0] == 1.0F);
        CHECK(cosine[1] == doctest::Approx(3.0 / 6.7082039));
    }
}

TEST_CASE("a row with beta 0 keeps its features, an empty row stays empty") {
    const Groups groups;
    const Csr matrix = rows();
    const Vector<float> ones(5, 1.0F);
    const Vector<CoOccurrenceView> blocks{{groups.layout(), ones.data()}};
    const Vector<float> betas{0.0F, 1.0F, 1.0F};
    const Csr found = impute(Context(1), matrix.view(), blocks, betas.data(), {});
    CHECK(found.indptr == Vector<std::int64_t>{0, 3, 3, 6});
    CHECK(found.indices == Vector<std::int32_t>{0, 1, 2, 0, 2, 3});
    const Csr narrow = impute(Context(1), matrix.view(), blocks, betas.data(), {0, 0, 1});
    CHECK(narrow.indices == Vector<std::int32_t>{0, 1, 2, 3});
    CHECK(narrow.data == Vector<float>{1.0F, 2.0F, 3.0F, 1.0F});
}

TEST_CASE("companions are those of the largest product, and the feature itself") {
    const Csr matrix = rows();
    Csr columns;
    columns.n_cols = 3;
    columns.indptr = {0, 2, 3, 4, 5};
    columns.indices = {0, 2, 0, 0, 2};
    columns.data = {1.0F, 2.0F, 2.0F, 3.0F, 7.0F};
    const Vector<float> weights(4, 1.0F);
    for (const unsigned threads : {1U, 2U, 3U}) {
        const Csr found = companions(Context(threads), columns.view(), matrix.view(),
                                     weights.data(), {1, 9, 0.0, 1.0, 0});
        CHECK(found.indptr == Vector<std::int64_t>{0, 2, 4, 6, 8});
        CHECK(found.indices == Vector<std::int32_t>{0, 3, 1, 2, 1, 2, 0, 3});
        // Feature 0 is in two rows, so that 14 / 5 is divided by three, the others' by two.
        CHECK(found.data[0] == 1.0F);
        CHECK(found.data[1] == doctest::Approx(14.0 / 5.0 / 3.0));
        CHECK(found.data[3] == doctest::Approx(6.0 / 4.0 / 2.0));
        CHECK(found.data[6] == doctest::Approx(14.0 / 49.0 / 2.0));
    }
}

TEST_CASE("candidates are ranked by the weighed sum, then by label") {
    const Vector<std::int32_t> labels{5, 2, -1, 3};
    const Vector<float> logs{-1.0F, -1.0F, 0.0F, -3.0F};
    const Vector<float> cosines{0.0F, 0.0F, 9.0F, 1.0F};
    const Vector<float> bonus(6, 0.0F);
    const Vector<float> strengths{0.0F, 4.0F};
    const Vector<float> weights{0.0F, 0.0F};
    const CandidateTable table{1, 4, labels.data()};
    const Vector<std::int32_t> found =
        rank_candidates(Context(2), table, logs.data(), cosines.data(), bonus.data(),
                        {2, strengths.data(), weights.data()}, 4);
    CHECK(found == Vector<std::int32_t>{1, 0, 3, -1, 3, 1, 0, -1});
}
