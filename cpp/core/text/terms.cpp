// SPDX-License-Identifier: BSD-3-Clause
#include "core/text/terms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace defrag {
namespace {

constexpr std::int64_t kTokensPerRange = 1 << 18;
constexpr std::int64_t kMostRanges = 64;

struct CountedPair {
    std::int32_t first = -1;
    std::int32_t second = -1;
    TermTally tally;
};

/// Pairs of words by a hash of their numbers: open addressing, at most half full.
class PairTable {
 public:
    PairTable() : slots_(kLeastSlots) {}

    void count(std::int32_t first, std::int32_t second, std::int32_t text) {
        if (2 * (n_pairs_ + 1) > slots_.size()) grow();
        CountedPair& slot = slots_[probe(first, second)];
        if (slot.first < 0) {
            slot.first = first;
            slot.second = second;
            ++n_pairs_;
        }
        slot.tally.count(text);
    }

    /// Returns the pairs that occur in at least `min_df` texts, ordered by their words.
    Vector<CountedPair> frequent(std::int32_t min_df) const {
        Vector<CountedPair> kept;
        for (const CountedPair& slot : slots_) {
            if (slot.tally.n_texts >= min_df) kept.push_back(slot);
        }
        std::sort(kept.begin(), kept.end(), [](const CountedPair& a, const CountedPair& b) {
            return std::pair(a.first, a.second) < std::pair(b.first, b.second);
        });
        kept.shrink_to_fit();
        return kept;
    }

 private:
    static constexpr std::int64_t kLeastSlots = 1024;

    std::int64_t probe(std::int32_t first, std::int32_t second) const {
        const std::int64_t mask = slots_.size() - 1;
        auto at = static_cast<std::int64_t>(hash_pair(first, second)) & mask;
        while (slots_[at].first >= 0 &&
               (slots_[at].first != first || slots_[at].second != second)) {
            at = (at + 1) & mask;
        }
        return at;
    }

    void grow() {
        Vector<CountedPair> old(2 * slots_.size());
        slots_.swap(old);
        for (const CountedPair& pair : old) {
            if (pair.first >= 0) slots_[probe(pair.first, pair.second)] = pair;
        }
    }

    Vector<CountedPair> slots_;
    std::int64_t n_pairs_ = 0;
};

/// Returns the bounds of ranges of words with about the same number of occurrences each.
Vector<std::int32_t> cut_ranges(const Vector<TermTally>& words) {
    std::int64_t n_tokens = 0;
    for (const TermTally& word : words) n_tokens += word.n_times;
    const std::int64_t n_ranges =
        std::clamp<std::int64_t>(n_tokens / kTokensPerRange, 1, kMostRanges);
    Vector<std::int32_t> bounds{0};
    std::int64_t n_before = 0;
    for (std::int32_t word = 0; word < words.size(); ++word) {
        n_before += words[word].n_times;
        if (n_before * n_ranges >= n_tokens * bounds.size()) bounds.push_back(word + 1);
    }
    return bounds;
}

Vector<CountedPair> frequent_pairs(const Context& context, const TextCorpus& corpus,
                                   const Vector<TermTally>& words, std::int32_t min_df) {
    const Vector<std::int32_t> bounds = cut_ranges(words);
    const std::int64_t n_ranges = bounds.size() - 1;
    Vector<Vector<CountedPair>> found(n_ranges);
    context.expect(n_ranges);
    parallel_for(context, n_ranges, 1, [&](std::int64_t range, std::int64_t, unsigned) {
        const std::int32_t low = bounds[range];
        const std::int32_t high = bounds[range + 1];
        PairTable table;
        for (std::int32_t text = 0; text < corpus.n_texts; ++text) {
            const Tokens tokens = corpus[text];
            for (std::int64_t t = 0; t + 1 < tokens.size; ++t) {
                const std::int32_t first = tokens.first[t];
                const std::int32_t second = tokens.first[t + 1];
                if (first >= low && first < high && second >= 0) table.count(first, second, text);
            }
            if (text % 4096 == 0) context.check();
        }
        found[range] = table.frequent(min_df);
        context.advance(1);
    });
    Vector<CountedPair> pairs;
    for (Vector<CountedPair>& some : found) {
        pairs.insert(pairs.end(), some.begin(), some.end());
        some = Vector<CountedPair>();
    }
    return pairs;
}

/// Returns the character n-grams of the distinct words, and the number of texts that contain each.
FrequentTerms frequent_grams(const Context& context, const TextCorpus& corpus,
                             const TermOptions& options) {
    Vocabulary vocabulary;
    Vector<std::int64_t> ends;
    Vector<std::int32_t> ids;
    CharacterGrams characters(options.grams);
    for (std::int64_t word = 0; word < corpus.words.size(); ++word) {
        characters.visit(corpus.words[word],
                         [&](std::string_view gram, std::int64_t, std::int64_t) {
                             ids.push_back(vocabulary.intern(gram));
                         });
        ends.push_back(ids.size());
        if (word % 4096 == 0) context.check();
    }
    const Vector<TermTally> tallies =
        tally_terms(context, corpus.n_texts, vocabulary.size(), [&](std::int32_t text, auto count) {
            for (const std::int32_t word : corpus[text]) {
                for (std::int64_t g = word == 0 ? 0 : ends[word - 1]; g < ends[word]; ++g) {
                    count(ids[g]);
                }
            }
        });
    return frequent_terms(vocabulary.strings(), tallies, options.min_df);
}

/// Selects the most frequent terms as features.
Vector<char> most_frequent(const Vector<std::int64_t>& n_times, std::int64_t max_features) {
    Vector<char> kept(n_times.size(), n_times.size() <= max_features ? 1 : 0);
    if (n_times.size() <= max_features) return kept;
    Vector<std::int64_t> order(n_times.size());
    std::iota(order.begin(), order.end(), 0);
    std::nth_element(order.begin(), order.begin() + max_features, order.end(),
                     [&](std::int64_t a, std::int64_t b) {
                         return n_times[a] != n_times[b] ? n_times[a] > n_times[b] : a < b;
                     });
    for (std::int64_t i = 0; i < max_features; ++i) kept[order[i]] = 1;
    return kept;
}

float idf(const TermTally& tally, std::int32_t n_texts) {
    return static_cast<float>(std::log((1.0 + n_texts) / (1.0 + tally.n_texts)) + 1.0);
}

}  // namespace

Terms choose_terms(const Context& context, TextCorpus& corpus, const TermOptions& options) {
    const bool is_grams = options.grams.most > 0;
    check_lengths(options.grams);
    if (options.max_features < 0) throw std::invalid_argument("max_features must not be negative");
    StringList strings;
    Vector<TermTally> words;
    Vector<CountedPair> pairs;
    if (is_grams) {
        FrequentTerms grams = frequent_grams(context, corpus, options);
        strings = std::move(grams.strings);
        words = std::move(grams.tallies);
    } else {
        words = corpus.keep_frequent_words(context, options.min_df);
        strings = corpus.words;
        if (options.pairs) pairs = frequent_pairs(context, corpus, words, options.min_df);
    }
    Vector<std::int64_t> n_times;
    n_times.reserve(words.size() + pairs.size());
    for (const TermTally& word : words) n_times.push_back(word.n_times);
    for (const CountedPair& pair : pairs) n_times.push_back(pair.tally.n_times);
    const Vector<char> kept = most_frequent(n_times, options.max_features);

    Vector<char> used(kept.begin(), kept.begin() + words.size());
    for (std::int64_t p = 0; p < pairs.size(); ++p) {
        if (kept[words.size() + p] == 0) continue;
        used[pairs[p].first] = used[pairs[p].second] = 1;
    }
    Terms terms;
    Vector<std::int32_t> number(words.size(), -1);
    for (std::int64_t word = 0; word < words.size(); ++word) {
        if (used[word] == 0) continue;
        number[word] = static_cast<std::int32_t>(terms.words.size());
        terms.words.push(strings[word]);
        terms.word_feature.push_back(kept[word] != 0 ? static_cast<std::int32_t>(terms.idf.size())
                                                     : -1);
        if (kept[word] != 0) terms.idf.push_back(idf(words[word], corpus.n_texts));
    }
    for (std::int64_t p = 0; p < pairs.size(); ++p) {
        if (kept[words.size() + p] == 0) continue;
        terms.pairs.push_back(number[pairs[p].first]);
        terms.pairs.push_back(number[pairs[p].second]);
        terms.idf.push_back(idf(pairs[p].tally, corpus.n_texts));
    }
    return terms;
}

}  // namespace defrag
