// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/arrays.hpp"
#include "core/text/corpus.hpp"

namespace defrag {

/// The lengths of character n-grams, in code points; no n-grams if `most` is 0.
struct GramLengths {
    std::int32_t least = 0;
    std::int32_t most = 0;
};

/// Throws std::invalid_argument unless `most` is 0 or 1 <= least <= most.
inline void check_lengths(GramLengths lengths) {
    const std::int32_t low = lengths.most == 0 ? 0 : 1;
    if (lengths.least < low || lengths.least > lengths.most) {
        throw std::invalid_argument("lengths of n-grams must be positive and must not decrease");
    }
}

/// The character n-grams of a word padded with a space on either side. A padded word shorter than
/// an n-gram is a single n-gram, and has no longer ones.
class CharacterGrams {
 public:
    explicit CharacterGrams(GramLengths lengths) : lengths_(lengths) {}

    /// Calls visit(gram, first, last) for the n-grams of a word in valid UTF-8; [first, last) are
    /// code points of the padded word. O(n-grams).
    template <class Visit>
    void visit(std::string_view word, Visit visit) {
        padded_.assign(1, ' ');
        padded_ += word;
        padded_ += ' ';
        starts_.clear();
        for (std::size_t at = 0; at < padded_.size(); ++at) {
            if ((static_cast<unsigned char>(padded_[at]) & 0xC0) != 0x80) starts_.push_back(at);
        }
        starts_.push_back(padded_.size());
        const std::int64_t n_points = starts_.size() - 1;
        for (std::int64_t n = lengths_.least; n <= lengths_.most; ++n) {
            const std::int64_t last_start = n_points > n ? n_points - n : 0;
            for (std::int64_t first = 0; first <= last_start; ++first) {
                const std::int64_t last = first + n < n_points ? first + n : n_points;
                const std::size_t begin = starts_[first];
                visit(std::string_view(padded_).substr(begin, starts_[last] - begin), first, last);
            }
            if (last_start == 0) break;
        }
    }

 private:
    GramLengths lengths_;
    std::string padded_;
    Vector<std::size_t> starts_;
};

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
