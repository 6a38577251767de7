// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>

#include "core/text/character_grams.hpp"
#include "core/text/corpus.hpp"

namespace defrag {

struct TermOptions {
    bool pairs = false;  ///< whether pairs of consecutive words are terms
    GramLengths grams;   ///< if any, character n-grams replace words as terms
    std::int32_t min_df = 1;
    std::int64_t max_features = std::numeric_limits<std::int64_t>::max();
};

/// The terms chosen as features: words (or n-grams) in byte order, then pairs ordered by their
/// words.
struct Terms {
    StringList words;                   ///< words of features and of pairs, or n-grams
    Vector<std::int32_t> word_feature;  ///< the feature of a word; -1 if it only occurs in pairs
    Vector<std::int32_t> pairs;         ///< the words of each pair
    Vector<float> idf;                  ///< ln((1 + n) / (1 + df)) + 1 of each feature
};

/// Chooses the terms that occur in at least `min_df` texts, and of these the `max_features` with
/// the most occurrences; ties go to the first. Drops the rare words of the corpus, unless the terms
/// are n-grams. Throws std::invalid_argument for invalid lengths of n-grams (see check_lengths).
///
/// Both words of a pair occur in at least as many texts as the pair, so pairs of rare words are not
/// counted. Pairs are counted in ranges of their first words, each with its own table. O(tokens *
/// (1 + tokens / 2^18)) with pairs, at most 64 passes. Memory: 24 bytes for each of the about 2^18
/// occurrences of a range, per worker.
Terms choose_terms(const Context& context, TextCorpus& corpus, const TermOptions& options);

}  // namespace defrag
