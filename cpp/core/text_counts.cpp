// SPDX-License-Identifier: BSD-3-Clause
#include "core/text_counts.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/blocks.hpp"
#include "core/words.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kTextsPerBlock = 1024;

/// The texts of one block: their words numbered as they come.
struct Block {
    Vocabulary vocabulary;
    std::vector<std::int64_t> sizes;
    std::vector<std::int32_t> tokens;
};

void split_block(const Texts& texts, std::int64_t begin, std::int64_t end, Words& words,
                 Block& block) {
    for (std::int64_t i = begin; i < end; ++i) {
        words.split(texts[static_cast<std::size_t>(i)]);
        for (std::size_t w = 0; w < words.size(); ++w) {
            block.tokens.push_back(block.vocabulary.intern(words[w]));
        }
        block.sizes.push_back(static_cast<std::int64_t>(words.size()));
    }
}

/// Numbers of the words of a vocabulary in the order of their bytes: rank[id].
std::vector<std::int32_t> rank_words(const Vocabulary& vocabulary,
                                     std::vector<std::string>& sorted) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(vocabulary.size()));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::int32_t a, std::int32_t b) { return vocabulary[a] < vocabulary[b]; });
    std::vector<std::int32_t> rank(order.size());
    sorted.reserve(order.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
        rank[static_cast<std::size_t>(order[place])] = static_cast<std::int32_t>(place);
        sorted.emplace_back(vocabulary[order[place]]);
    }
    return rank;
}

std::uint64_t pair_key(std::int32_t first, std::int32_t second) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32 |
           static_cast<std::uint32_t>(second);
}

std::uint64_t spread(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15ULL;
    return key ^ key >> 32;
}

}  // namespace

TokenizedTexts tokenize(const Context& context, const Texts& texts) {
    const auto n_texts = static_cast<std::int64_t>(texts.size());
    context.expect(n_texts);
    std::vector<Block> blocks(
        static_cast<std::size_t>((n_texts + kTextsPerBlock - 1) / kTextsPerBlock));
    std::vector<Words> scratches(context.n_threads());
    parallel_for(context, n_texts, kTextsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     Block& block = blocks[static_cast<std::size_t>(begin / kTextsPerBlock)];
                     split_block(texts, begin, end, scratches[worker], block);
                     context.advance(end - begin);
                 });
    TokenizedTexts result;
    Vocabulary merged;
    std::vector<std::vector<std::int32_t>> maps(blocks.size());
    std::vector<std::int64_t> starts(blocks.size());
    result.indptr.push_back(0);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const Vocabulary& own = blocks[b].vocabulary;
        maps[b].reserve(static_cast<std::size_t>(own.size()));
        for (std::int32_t id = 0; id < own.size(); ++id) maps[b].push_back(merged.intern(own[id]));
        starts[b] = result.indptr.back();
        for (const std::int64_t size : blocks[b].sizes) {
            result.indptr.push_back(result.indptr.back() + size);
        }
        blocks[b].vocabulary = Vocabulary();
    }
    const std::vector<std::int32_t> rank = rank_words(merged, result.words);
    result.tokens.resize(static_cast<std::size_t>(result.indptr.back()));
    parallel_for(context, static_cast<std::int64_t>(blocks.size()), 1,
                 [&](std::int64_t block, std::int64_t, unsigned) {
                     const auto b = static_cast<std::size_t>(block);
                     auto to = result.tokens.begin() + starts[b];
                     for (const std::int32_t token : blocks[b].tokens) {
                         const std::int32_t id = maps[b][static_cast<std::size_t>(token)];
                         *to++ = rank[static_cast<std::size_t>(id)];
                     }
                 });
    return result;
}

TextFeatures::TextFeatures(const std::vector<std::string_view>& words,
                           const std::int32_t* word_feature, const std::int32_t* pairs,
                           const std::int32_t* pair_feature, std::int64_t n_pairs,
                           std::int32_t n_features)
    : word_feature_(word_feature, word_feature + words.size()), n_features_(n_features) {
    const auto n_words = static_cast<std::int32_t>(words.size());
    const auto check = [](bool holds, const char* rule) {
        if (!holds) throw std::invalid_argument(rule);
    };
    for (std::int32_t i = 0; i < n_words; ++i) {
        const auto at = static_cast<std::size_t>(i);
        check(vocabulary_.intern(words[at]) == i, "words of a vocabulary must differ");
        check(word_feature_[at] >= -1 && word_feature_[at] < n_features,
              "features of words must be numbers of features or -1");
    }
    if (n_pairs == 0) return;
    std::size_t n_slots = 1024;
    while (n_slots < static_cast<std::size_t>(2 * n_pairs)) n_slots *= 2;
    slots_.resize(n_slots);
    for (std::int64_t p = 0; p < n_pairs; ++p) {
        const std::int32_t first = pairs[2 * p];
        const std::int32_t second = pairs[2 * p + 1];
        check(first >= 0 && first < n_words && second >= 0 && second < n_words,
              "pairs must be numbers of words");
        check(pair_feature[p] >= 0 && pair_feature[p] < n_features,
              "features of pairs must be numbers of features");
        Slot& slot = slots_[probe(pair_key(first, second))];
        check(slot.feature < 0, "pairs of a vocabulary must differ");
        slot = {pair_key(first, second), pair_feature[p]};
    }
}

std::size_t TextFeatures::probe(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(spread(key)) & mask;
    while (slots_[at].feature >= 0 && slots_[at].key != key) at = (at + 1) & mask;
    return at;
}

std::int32_t TextFeatures::pair(std::int32_t first, std::int32_t second) const {
    return slots_[probe(pair_key(first, second))].feature;
}

Csr count_features(const Context& context, const Texts& texts, const TextFeatures& features) {
    struct Scratch {
        Words words;
        std::vector<std::int32_t> found;
    };
    context.expect(static_cast<std::int64_t>(texts.size()));
    std::vector<Scratch> scratches(context.n_threads());
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned worker) {
        auto& [words, found] = scratches[worker];
        found.clear();
        words.split(texts[static_cast<std::size_t>(row)]);
        std::int32_t before = Vocabulary::kNone;
        for (std::size_t w = 0; w < words.size(); ++w) {
            const std::int32_t word = features.word(words[w]);
            if (word != Vocabulary::kNone) {
                if (features.feature(word) >= 0) found.push_back(features.feature(word));
                if (before != Vocabulary::kNone && features.has_pairs()) {
                    const std::int32_t pair = features.pair(before, word);
                    if (pair >= 0) found.push_back(pair);
                }
            }
            before = word;
        }
        std::sort(found.begin(), found.end());
        for (std::size_t i = 0; i < found.size();) {
            std::size_t j = i;
            while (j < found.size() && found[j] == found[i]) ++j;
            block.push(found[i], static_cast<float>(j - i));
            i = j;
        }
    };
    return build_rows(context, static_cast<std::int64_t>(texts.size()), features.n_features(), 256,
                      fill);
}

}  // namespace defrag
