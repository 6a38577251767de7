// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "core/base/parallel.hpp"
#include "core/text/vocabulary.hpp"
#include "core/text/words.hpp"

namespace defrag {

using Texts = Vector<std::string_view>;

/// The number of texts that contain a term, and its number of occurrences.
struct TermTally {
    std::int32_t last_text = -1;
    std::int32_t n_texts = 0;
    std::int64_t n_times = 0;

    void count(std::int32_t text) {
        n_texts += last_text != text;
        last_text = text;
        ++n_times;
    }
};

/// The words of a text as numbers; -1 represents a dropped word.
struct Tokens {
    const std::int32_t* first = nullptr;
    std::int64_t size = 0;

    const std::int32_t* begin() const { return first; }
    const std::int32_t* end() const { return first + size; }
};

/// Texts as sequences of word numbers, in blocks that are never copied into one array.
struct TextCorpus {
    static constexpr std::int64_t kTextsPerBlock = 1024;
    struct Block {
        Vector<std::int64_t> ends;  ///< where the tokens of each text end
        Vector<std::int32_t> tokens;
    };

    StringList words;
    Vector<Block> blocks;
    std::int32_t n_texts = 0;

    Tokens operator[](std::int64_t text) const {
        const Block& block = blocks[text / kTextsPerBlock];
        const std::int64_t place = text % kTextsPerBlock;
        const std::int64_t begin = place == 0 ? 0 : block.ends[place - 1];
        return {block.tokens.data() + begin, block.ends[place] - begin};
    }

    /// Replaces each word that was not dropped by map[word].
    void renumber(const Context& context, const Vector<std::int32_t>& map);

    /// Replaces word i by replacements[i], such as its stem.
    void replace_words(const Context& context, const Texts& replacements);

    /// Drops words that occur in fewer than `min_df` texts and numbers the others in byte order.
    /// Returns the tallies of the remaining words.
    Vector<TermTally> keep_frequent_words(const Context& context, std::int32_t min_df);
};

/// Terms in byte order, and the rank of each of the original terms, or -1.
struct FrequentTerms {
    StringList strings;
    Vector<TermTally> tallies;
    Vector<std::int32_t> ranks;
};

/// Returns the terms that occur in at least `min_df` texts.
FrequentTerms frequent_terms(const StringList& strings, const Vector<TermTally>& tallies,
                             std::int32_t min_df);

/// Splits texts into words, some at a time. Each worker numbers the words that it finds; the
/// numberings are merged at the end, so that the numbers depend on the number of threads until
/// keep_frequent_words ranks them. No result may depend on them before that. O(bytes). Memory: 4
/// bytes per token, and the distinct words once per worker.
class TextSplitter {
 public:
    explicit TextSplitter(const Context& context) : workers_(context.n_threads()) {}

    /// Adds texts; all but the last time, a multiple of kTextsPerBlock. Throws std::length_error
    /// for more than 2^31 - 1 texts in all.
    void add(const Context& context, const Texts& texts);

    TextCorpus finish(const Context& context);

 private:
    struct Worker {
        Words words;
        Vocabulary vocabulary;
        Vector<std::int32_t> tokens;  // of a block, which receives an exactly sized copy
    };

    void split(const Texts& texts, const Range& range, Worker& worker, TextCorpus::Block& block);
    Vector<Vector<std::int32_t>> merge_vocabularies();

    TextCorpus corpus_;
    Vector<Worker> workers_;
    Vector<unsigned> owners_;  // the worker whose numbering a block uses
};

/// Splits texts that are all in memory.
TextCorpus split_texts(const Context& context, const Texts& texts);

/// Counts the terms of all texts: visit(text, count) calls count(term) for each occurrence of a
/// term in a text. Memory: 16 bytes per term and worker.
template <class Visit>
Vector<TermTally> tally_terms(const Context& context, std::int32_t n_texts, std::int64_t n_terms,
                              Visit visit) {
    constexpr std::int64_t kTextsPerBlock = 1024;
    Vector<Vector<TermTally>> tallies(context.n_threads());
    context.expect(n_texts);
    parallel_for(context, n_texts, kTextsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     Vector<TermTally>& own = tallies[worker];
                     if (own.empty()) own.resize(n_terms);
                     for (std::int64_t i = begin; i < end; ++i) {
                         const auto text = static_cast<std::int32_t>(i);
                         visit(text, [&](std::int32_t term) { own[term].count(text); });
                     }
                     context.advance(end - begin);
                 });
    Vector<TermTally> sums;
    for (Vector<TermTally>& own : tallies) {
        if (sums.empty()) sums.swap(own);  // own is empty if its worker had no text
        for (std::int64_t term = 0; term < own.size(); ++term) {
            sums[term].n_texts += own[term].n_texts;
            sums[term].n_times += own[term].n_times;
        }
    }
    sums.resize(n_terms);  // if there are no texts
    return sums;
}

}  // namespace defrag
