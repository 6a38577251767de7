// SPDX-License-Identifier: BSD-3-Clause
#include "core/text/corpus.hpp"

#include <stdexcept>

#include "core/text/words.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kTextsPerBlock = TextCorpus::kTextsPerBlock;

struct Worker {
    Words words;
    Vocabulary vocabulary;
    Vector<std::int32_t> tokens;  // of a block, which receives an exactly sized copy
};

void split_block(const Texts& texts, std::int64_t begin, std::int64_t end, Worker& worker,
                 TextCorpus::Block& block) {
    Words& words = worker.words;
    worker.tokens.clear();
    block.ends.reserve(end - begin);
    for (std::int64_t i = begin; i < end; ++i) {
        words.split(texts[i]);
        for (std::int64_t w = 0; w < words.size(); ++w) worker.vocabulary.prefetch(words.key(w));
        for (std::int64_t w = 0; w < words.size(); ++w) {
            worker.tokens.push_back(worker.vocabulary.intern(words[w], words.key(w)));
        }
        block.ends.push_back(worker.tokens.size());
    }
    block.tokens.assign(worker.tokens.begin(), worker.tokens.end());
}

/// Merges all vocabularies into that of the first worker; returns, for each worker, the merged
/// numbers of its words.
Vector<Vector<std::int32_t>> merge_vocabularies(Vector<Worker>& workers) {
    Vector<Vector<std::int32_t>> maps(workers.size());
    Vocabulary& merged = workers[0].vocabulary;
    for (std::int64_t w = 1; w < workers.size(); ++w) {
        const Vocabulary& own = workers[w].vocabulary;
        maps[w].reserve(own.size());
        for (std::int32_t id = 0; id < own.size(); ++id) maps[w].push_back(merged.intern(own[id]));
        workers[w].vocabulary = Vocabulary();
    }
    return maps;
}

}  // namespace

TextCorpus split_texts(const Context& context, const Texts& texts) {
    if (texts.size() > INT32_MAX) throw std::length_error("more than 2^31 - 1 texts");
    context.expect(texts.size());
    TextCorpus corpus;
    corpus.n_texts = static_cast<std::int32_t>(texts.size());
    corpus.blocks.resize((texts.size() + kTextsPerBlock - 1) / kTextsPerBlock);
    Vector<unsigned> owners(corpus.blocks.size());  // the worker whose numbering a block uses
    Vector<Worker> workers(context.n_threads());
    parallel_for(context, texts.size(), kTextsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     const std::int64_t block = begin / kTextsPerBlock;
                     owners[block] = worker;
                     split_block(texts, begin, end, workers[worker], corpus.blocks[block]);
                     context.advance(end - begin);
                 });
    const Vector<Vector<std::int32_t>> maps = merge_vocabularies(workers);
    corpus.words = workers[0].vocabulary.take_strings();
    parallel_for(context, corpus.blocks.size(), 1, [&](std::int64_t b, std::int64_t, unsigned) {
        const Vector<std::int32_t>& map = maps[owners[b]];
        if (owners[b] == 0) return;
        for (std::int32_t& token : corpus.blocks[b].tokens) token = map[token];
    });
    return corpus;
}

void TextCorpus::renumber(const Context& context, const Vector<std::int32_t>& map) {
    parallel_for(context, blocks.size(), 1, [&](std::int64_t b, std::int64_t, unsigned) {
        for (std::int32_t& token : blocks[b].tokens) token = token < 0 ? token : map[token];
    });
}

void TextCorpus::replace_words(const Context& context, const Texts& replacements) {
    if (replacements.size() != words.size()) {
        throw std::invalid_argument("there must be one replacement per word of the corpus");
    }
    Vocabulary vocabulary;
    Vector<std::int32_t> map;
    map.reserve(replacements.size());
    for (const std::string_view word : replacements) map.push_back(vocabulary.intern(word));
    renumber(context, map);
    words = vocabulary.take_strings();
}

Vector<TermTally> TextCorpus::keep_frequent_words(const Context& context, std::int32_t min_df) {
    const Vector<TermTally> tallies =
        tally_terms(context, n_texts, words.size(), [&](std::int32_t text, auto count) {
            for (const std::int32_t token : (*this)[text]) {
                if (token >= 0) count(token);
            }
        });
    FrequentTerms frequent = frequent_terms(words, tallies, min_df);
    renumber(context, frequent.ranks);
    words = std::move(frequent.strings);
    return std::move(frequent.tallies);
}

FrequentTerms frequent_terms(const StringList& strings, const Vector<TermTally>& tallies,
                             std::int32_t min_df) {
    StringList kept;
    Vector<std::int32_t> numbers;
    for (std::int32_t term = 0; term < tallies.size(); ++term) {
        if (tallies[term].n_texts < min_df) continue;
        kept.push(strings[term]);
        numbers.push_back(term);
    }
    FrequentTerms result;
    result.tallies.reserve(kept.size());
    result.strings.ends.reserve(kept.size());
    result.strings.bytes.reserve(kept.bytes.size());
    result.ranks.assign(tallies.size(), -1);
    for (const std::int32_t place : order_by_bytes(kept)) {
        const std::int32_t term = numbers[place];
        result.ranks[term] = static_cast<std::int32_t>(result.tallies.size());
        result.tallies.push_back(tallies[term]);
        result.strings.push(kept[place]);
    }
    return result;
}

}  // namespace defrag
