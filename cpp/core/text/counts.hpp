// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"
#include "core/text/terms.hpp"
#include "core/text/words.hpp"

namespace defrag {

/// The features in a sequence of words, in its order. Feature i begins `begin[i]` code points after
/// the beginning of word `first[i]`. It ends `end[i]` code points after the beginning of word
/// `last[i]`, or at the end of that word if this comes earlier.
struct Occurrences {
    Vector<std::int32_t> feature;
    Vector<std::int64_t> first;
    Vector<std::int64_t> last;
    Vector<std::int64_t> begin;
    Vector<std::int64_t> end;
};

/// The features of a fitted vectoriser: words and pairs of consecutive words, or character n-grams
/// of words.
class TextFeatures {
 public:
    /// `word_feature[i]` is the feature of words[i], or -1; the remaining features belong, in
    /// ascending order, to `pairs`, two words each. `idf` has one value per feature; a feature with
    /// idf 0 is never present in a text. With `grams`, the words are n-grams. Throws
    /// std::invalid_argument if words, features or pairs repeat, or if a number is out of range.
    /// O(words + features).
    TextFeatures(const StringList& words, Vector<std::int32_t> word_feature,
                 const Vector<std::int32_t>& pairs, Vector<float> idf, GramLengths grams);

    std::int64_t n_features() const { return idf_.size(); }
    bool has_pairs() const { return !slots_.empty(); }
    bool has_grams() const { return grams_.most > 0; }
    GramLengths grams() const { return grams_; }

    /// Returns the number of a word or n-gram, or -1.
    std::int32_t find(std::string_view word, const StringKey& key) const {
        return vocabulary_.find(word, key);
    }
    std::int32_t find(std::string_view word) const { return vocabulary_.find(word); }
    void prefetch(const StringKey& key) const { vocabulary_.prefetch(key); }
    /// Returns the feature of a word, or -1.
    std::int32_t word_feature(std::int32_t word) const { return word_feature_[word]; }
    /// Returns the feature of a pair of words, or -1. `hash` is their hash_pair.
    std::int32_t pair_feature(std::int32_t first, std::int32_t second, std::uint64_t hash) const {
        return slots_[probe(first, second, hash)].feature;
    }
    void prefetch_pair(std::uint64_t hash) const {
        __builtin_prefetch(&slots_[static_cast<std::int64_t>(hash) & (slots_.size() - 1)]);
    }

    /// (1 + ln t) * idf of a feature that occurs t times.
    float value(std::int32_t feature, std::int64_t n_times) const {
        const float tf = n_times <= kTabulatedCounts ? tf_[n_times - 1] : sublinear(n_times);
        return tf * idf_[feature];
    }

 private:
    static constexpr std::int64_t kTabulatedCounts = 255;
    static float sublinear(std::int64_t n_times);

    /// A pair in an open-addressing table, at most two thirds full.
    struct Slot {
        std::int32_t first = -1;
        std::int32_t second = -1;
        std::int32_t feature = -1;
    };
    std::int64_t probe(std::int32_t first, std::int32_t second, std::uint64_t hash) const {
        const std::int64_t mask = slots_.size() - 1;
        auto at = static_cast<std::int64_t>(hash) & mask;
        while (slots_[at].feature >= 0 &&
               (slots_[at].first != first || slots_[at].second != second)) {
            at = (at + 1) & mask;
        }
        return at;
    }

    Vocabulary vocabulary_;
    Vector<std::int32_t> word_feature_;
    Vector<Slot> slots_;
    Vector<float> idf_;
    Vector<float> tf_ = Vector<float>(kTabulatedCounts);  ///< 1 + ln t of small counts
    GramLengths grams_;
};

/// Returns L2-normalised rows of (1 + ln t) * idf, where t is the number of occurrences of a
/// feature in a text. Columns are sorted. O(bytes). Memory: the words of the texts, and the result.
Csr weigh_features(const Context& context, const Texts& texts, const TextFeatures& features);

/// The same for texts already split into words. Row sizes are counted first, and the words of the
/// corpus are freed as rows are written, so it must not be used afterwards. Memory: the result, a
/// quarter of the words, and 4 bytes per feature and worker.
Csr weigh_features(const Context& context, TextCorpus&& corpus, const TextFeatures& features);

/// Returns all features in a sequence of words. O(bytes).
Occurrences find_features(const Texts& words, const TextFeatures& features);

}  // namespace defrag
