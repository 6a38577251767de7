// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "core/text/counts.hpp"

using namespace defrag;

namespace {

constexpr std::array<const char*, 14> kPieces = {"a",
                                                 "b",
                                                 "Zz",
                                                 " ",
                                                 ".",
                                                 "\xC3\xA9",
                                                 "\xE4\xB8\xAD",
                                                 "\xE6\x96\x87",
                                                 "\xF0\x9F\x98\x80",
                                                 "_1",
                                                 "c",
                                                 "-",
                                                 "\xC8\xBA",
                                                 "\xC4\xB0"};

/// Texts of a few pieces, or of any bytes: the kernels must not read beyond those either.
Vector<std::string> random_texts(std::mt19937& random, bool any_bytes) {
    Vector<std::string> texts(static_cast<std::int64_t>(random() % 300));
    for (std::string& text : texts) {
        const std::size_t n_pieces = random() % 60;
        for (std::size_t i = 0; i < n_pieces; ++i) {
            if (any_bytes) {
                text.push_back(static_cast<char>(random() % 256));
            } else {
                text += kPieces.at(random() % kPieces.size());
            }
        }
    }
    return texts;
}

TermOptions random_options(std::mt19937& random) {
    TermOptions options;
    options.pairs = random() % 2 == 0;
    if (random() % 3 == 0) options = {false, {1, 4}};
    options.min_df = static_cast<std::int32_t>(1 + random() % 3);
    if (random() % 2 == 0) options.max_features = static_cast<std::int64_t>(random() % 20);
    return options;
}

TextFeatures features_of(const Terms& terms, GramLengths grams) {
    return TextFeatures(terms.words, terms.word_feature, terms.pairs, terms.idf, grams);
}

void check_same(const Csr& a, const Csr& b) {
    CHECK(a.indptr == b.indptr);
    CHECK(a.indices == b.indices);
    CHECK(a.data == b.data);
}

}  // namespace

TEST_CASE("words have the keys of their bytes, and are found by them") {
    std::mt19937 random(1);
    Words words;
    Vocabulary vocabulary;
    std::map<std::string, std::int32_t> expected;
    for (int round = 0; round < 20; ++round) {
        for (const std::string& text : random_texts(random, false)) {
            words.split(text);
            for (std::int64_t w = 0; w < words.size(); ++w) {
                const StringKey key = key_of(words[w]);
                CHECK(words.key(w).first == key.first);
                CHECK(words.key(w).hash == key.hash);
                const auto next = static_cast<std::int32_t>(expected.size());
                const std::int32_t id = expected.emplace(words[w], next).first->second;
                CHECK(vocabulary.intern(words[w], words.key(w)) == id);
            }
        }
    }
    CHECK(vocabulary.size() > 1000);
    for (const auto& [word, id] : expected) {
        CHECK(vocabulary.find(word) == id);
        CHECK(vocabulary[id] == word);
    }
    // Strings that differ in trailing zeros alone have the same first bytes.
    const std::string_view zeros("ab\0\0", 4);
    CHECK(key_of(zeros).first == key_of("ab").first);
    CHECK(vocabulary.intern("ab") != vocabulary.intern(zeros));
}

TEST_CASE("rows of many blocks of texts are those of each text") {
    std::mt19937 random(11);
    Vector<std::string> strings;
    while (strings.size() < 9 * TextCorpus::kTextsPerBlock + 5) {
        for (std::string& text : random_texts(random, false)) strings.push_back(std::move(text));
    }
    const Texts texts(strings.begin(), strings.end());
    TextCorpus corpus = split_texts(Context(1), texts);
    const Terms terms = choose_terms(Context(1), corpus, {});
    const TextFeatures features = features_of(terms, {});
    const Csr rows = weigh_features(Context(1), std::move(corpus), features);
    CHECK(rows.n_rows() == texts.size());
    for (const unsigned n_threads : {1U, 2U, 7U}) {
        check_same(weigh_features(Context(n_threads), texts, features), rows);
    }
    std::int64_t entry = 0;
    for (std::int64_t i = 0; i < texts.size(); i += 100) {
        const Texts some(texts.begin() + i, texts.begin() + std::min(i + 100, texts.size()));
        const Csr part = weigh_features(Context(1), some, features);
        for (std::int64_t j = 0; j < part.indices.size(); ++j, ++entry) {
            CHECK(part.indices[j] == rows.indices[entry]);
            CHECK(part.data[j] == rows.data[entry]);
        }
    }
    CHECK(entry == rows.indptr.back());
}

TEST_CASE("rows of a corpus, of texts and for any number of threads are the same") {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const Vector<std::string> strings = random_texts(random, round % 5 == 0);
        const Texts texts(strings.begin(), strings.end());
        const TermOptions options = random_options(random);
        TextCorpus corpus = split_texts(Context(1), texts);
        const Terms terms = choose_terms(Context(1), corpus, options);
        const TextFeatures features = features_of(terms, options.grams);
        const Csr rows = weigh_features(Context(1), std::move(corpus), features);
        CHECK(rows.n_rows() == texts.size());

        const Context many(3);
        TextCorpus again = split_texts(many, texts);
        const Terms same = choose_terms(many, again, options);
        CHECK(same.words.bytes == terms.words.bytes);
        CHECK(same.pairs == terms.pairs);
        CHECK(same.idf == terms.idf);
        check_same(weigh_features(many, std::move(again), features), rows);
        check_same(weigh_features(many, texts, features), rows);
        const Texts few(texts.begin(), texts.begin() + std::min<std::int64_t>(texts.size(), 9));
        const Csr first = weigh_features(many, few, features);
        for (std::int64_t i = 0; i < first.indices.size(); ++i) {
            CHECK(first.indices[i] == rows.indices[i]);
            CHECK(first.data[i] == rows.data[i]);
        }
    }
}

TEST_CASE("features stand in the words that they are of") {
    TextCorpus corpus = split_texts(Context(1), {"one two one", "two one two"});
    TermOptions options;
    options.pairs = true;
    const TextFeatures features = features_of(choose_terms(Context(1), corpus, options), {});
    const Occurrences found = find_features({"two", "none", "one", "two"}, features);
    CHECK(found.feature == Vector<std::int32_t>{1, 0, 1, 2});  // two, one, two, "one two"
    CHECK(found.first == Vector<std::int64_t>{0, 2, 3, 2});
    CHECK(found.last == Vector<std::int64_t>{0, 2, 3, 3});
}
