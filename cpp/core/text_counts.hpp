// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/csr.hpp"
#include "core/parallel.hpp"
#include "core/vocabulary.hpp"

namespace defrag {

using Texts = std::vector<std::string_view>;

/// The distinct words of some texts in the order of their bytes, and each text as a sequence of
/// numbers of words: those of text i are tokens[indptr[i]] to tokens[indptr[i + 1] - 1].
struct TokenizedTexts {
    std::vector<std::string> words;
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> tokens;
};

/// Splits texts into words. Blocks of texts are numbered on their own and merged in their order,
/// and the numbers are ranks, so that threads cannot be seen in the result. Memory: 4 bytes a
/// token, and the distinct words twice.
TokenizedTexts tokenize(const Context& context, const Texts& texts);

/// The features of a fitted vectoriser: words, and pairs of words that follow each other.
class TextFeatures {
 public:
    /// `word_feature[i]` is the feature of words[i], or -1; pair p, of words 2p and 2p + 1 of
    /// `pairs`, is feature pair_feature[p]. Throws std::invalid_argument if words repeat, or if a
    /// number is out of range.
    TextFeatures(const std::vector<std::string_view>& words, const std::int32_t* word_feature,
                 const std::int32_t* pairs, const std::int32_t* pair_feature, std::int64_t n_pairs,
                 std::int32_t n_features);

    std::int32_t n_features() const { return n_features_; }
    std::int32_t word(std::string_view word) const { return vocabulary_.find(word); }
    std::int32_t feature(std::int32_t word) const {
        return word_feature_[static_cast<std::size_t>(word)];
    }
    bool has_pairs() const { return !slots_.empty(); }
    /// The feature of a pair of words, or -1.
    std::int32_t pair(std::int32_t first, std::int32_t second) const;

 private:
    struct Slot {
        std::uint64_t key = 0;
        std::int32_t feature = -1;
    };
    std::size_t probe(std::uint64_t key) const;

    Vocabulary vocabulary_;
    std::vector<std::int32_t> word_feature_;
    std::vector<Slot> slots_;
    std::int32_t n_features_;
};

/// How often each feature occurs in each text. O(bytes of the texts); columns are sorted.
Csr count_features(const Context& context, const Texts& texts, const TextFeatures& features);

}  // namespace defrag
