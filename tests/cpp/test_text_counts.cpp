// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "core/text/counts.hpp"

using namespace defrag;

namespace {

/// Texts of any bytes: the kernels, which Python gives valid UTF-8 only, must not read beyond them.
Vector<std::string> random_bytes(std::mt19937& random) {
    Vector<std::string> texts(static_cast<std::int64_t>(random() % 300));
    for (std::string& text : texts) {
        text.resize(random() % 60);
        for (char& byte : text) byte = static_cast<char>(random() % 256);
    }
    return texts;
}

void check_same(const Csr& a, const Csr& b) {
    CHECK(a.indptr == b.indptr);
    CHECK(a.indices == b.indices);
    CHECK(a.data == b.data);
}

}  // namespace

TEST_CASE("texts of any bytes have the same rows for any number of threads, first or later") {
    std::mt19937 random(7);
    for (int round = 0; round < 12; ++round) {
        const Vector<std::string> strings = random_bytes(random);
        const Texts texts(strings.begin(), strings.end());
        TermOptions options;
        options.pairs = round % 3 != 0;
        if (!options.pairs) options.grams = {1, 4};
        TextCorpus corpus = split_texts(Context(1), texts);
        const Terms terms = choose_terms(Context(1), corpus, options);
        const TextFeatures features(terms.words, terms.word_feature, terms.pairs, terms.idf,
                                    options.grams);
        const Csr rows = weigh_features(Context(1), std::move(corpus), features);
        CHECK(rows.n_rows() == texts.size());
        for (const unsigned n_threads : {1U, 3U}) {
            check_same(weigh_features(Context(n_threads), texts, features), rows);
        }
    }
}
