// SPDX-License-Identifier: BSD-3-Clause
#include "core/text/corpus.hpp"

#include <stdexcept>

namespace defrag {
namespace {

constexpr std::int64_t kTextsPerBlock = TextCorpus::kTextsPerBlock;

}  // namespace

void TextSplitter::split(const Texts& texts, const Range& range, Worker& worker,
                         TextCorpus::Block& block) {
    Words& words = worker.words;
    worker.tokens.clear();
    block.ends.reserve(range.size());
    for (std::int64_t i = range.begin; i < range.end; ++i) {
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
Vector<Vector<std::int32_t>> TextSplitter::merge_vocabularies() {
    Vector<Vector<std::int32_t>> maps(workers_.size());
    Vocabulary& merged = workers_[0].vocabulary;
    for (std::int64_t w = 1; w < workers_.size(); ++w) {
        const Vocabulary& own = workers_[w].vocabulary;
        maps[w].reserve(own.size());
        for (std::int32_t id = 0; id < own.size(); ++id) maps[w].push_back(merged.intern(own[id]));
        workers_[w].vocabulary = Vocabulary();
    }
    return maps;
}

void TextSplitter::add(const Context& context, const Texts& texts) {
    if (texts.size() > INT32_MAX - corpus_.n_texts) {
        throw std::length_error("more than 2^31 - 1 texts");
    }
    if (corpus_.n_texts % kTextsPerBlock != 0) throw std::invalid_argument("a part of texts");
    const std::int64_t first = corpus_.blocks.size();
    corpus_.n_texts += static_cast<std::int32_t>(texts.size());
    corpus_.blocks.resize((corpus_.n_texts + kTextsPerBlock - 1) / kTextsPerBlock);
    owners_.resize(corpus_.blocks.size());
    parallel_for(context, texts.size(), kTextsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     const std::int64_t block = first + begin / kTextsPerBlock;
                     owners_[block] = worker;
                     split(texts, {begin, end}, workers_[worker], corpus_.blocks[block]);
                     context.advance(end - begin);
                 });
}

TextCorpus TextSplitter::finish(const Context& context) {
    const Vector<Vector<std::int32_t>> maps = merge_vocabularies();
    corpus_.words = workers_[0].vocabulary.take_strings();
    parallel_for(context, corpus_.blocks.size(), 1, [&](std::int64_t b, std::int64_t, unsigned) {
        const Vector<std::int32_t>& map = maps[owners_[b]];
        if (owners_[b] == 0) return;
        for (std::int32_t& token : corpus_.blocks[b].tokens) token = map[token];
    });
    return std::move(corpus_);
}

TextCorpus split_texts(const Context& context, const Texts& texts) {
    context.expect(texts.size());
    TextSplitter splitter(context);
    splitter.add(context, texts);
    return splitter.finish(context);
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
