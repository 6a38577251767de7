// SPDX-License-Identifier: BSD-3-Clause
#include "core/text/counts.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#if defined(__linux__)
#include <malloc.h>
#endif

#include "core/base/bitset.hpp"
#include "core/base/blocks.hpp"

namespace defrag {
namespace {

// Fewer texts than this are looked up word by word, since a corpus and counters for all features
// would cost more.
constexpr std::int64_t kFewTexts = 128;
constexpr std::int64_t kTextsPerBlock = 256;
// Rows are written in about this many parts; the words of a part are freed once it is written.
constexpr std::int64_t kParts = 4;

void check(bool holds, const char* rule) {
    if (!holds) throw std::invalid_argument(rule);
}

/// Returns freed memory to the system, which glibc does not do by itself for blocks this small.
void trim_heap() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

/// L2-normalises a row.
void normalise(float* values, std::int64_t size) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(values[i]) * values[i];
    const double scale = sum > 0.0 ? 1.0 / std::sqrt(sum) : 0.0;
    for (std::int64_t i = 0; i < size; ++i) values[i] = static_cast<float>(values[i] * scale);
}

/// Calls visit(feature) for each occurrence of a word or pair in a sequence of word numbers.
template <class Visit>
void visit_words(const TextFeatures& features, const std::int32_t* words, std::int64_t n_words,
                 Visit visit) {
    for (std::int64_t w = 0; w < n_words; ++w) {
        if (words[w] >= 0 && features.word_feature(words[w]) >= 0) {
            visit(features.word_feature(words[w]));
        }
    }
    if (!features.has_pairs()) return;
    constexpr std::int64_t kAhead = 16;
    const auto hash = [&](std::int64_t w) { return hash_pair(words[w], words[w + 1]); };
    for (std::int64_t w = 0; w < std::min(kAhead, n_words - 1); ++w)
        features.prefetch_pair(hash(w));
    for (std::int64_t w = 0; w + 1 < n_words; ++w) {
        if (w + kAhead + 1 < n_words) features.prefetch_pair(hash(w + kAhead));
        if (words[w] < 0 || words[w + 1] < 0) continue;
        const std::int32_t pair = features.pair_feature(words[w], words[w + 1], hash(w));
        if (pair >= 0) visit(pair);
    }
}

/// Maps the words of a corpus to features: to the number of a word if there are pairs, otherwise to
/// the feature of the word or those of its n-grams.
class CorpusWords {
 public:
    CorpusWords(const TextCorpus& corpus, const TextFeatures& features)
        : corpus_(corpus), features_(features) {
        CharacterGrams grams(features.grams());
        for (std::int64_t word = 0; word < corpus.words.size(); ++word) {
            const std::string_view string = corpus.words[word];
            if (!features.has_grams()) {
                const std::int32_t number = features.find(string);
                const bool is_last = number < 0 || features.has_pairs();
                numbers_.push_back(is_last ? number : features.word_feature(number));
                continue;
            }
            grams.visit(string, [&](std::string_view gram, std::int64_t, std::int64_t) {
                const std::int32_t number = features.find(gram);
                if (number >= 0) numbers_.push_back(features.word_feature(number));
            });
            ends_.push_back(numbers_.size());
        }
    }

    /// Calls visit(feature) for each occurrence of a feature in a text.
    template <class Visit>
    void visit(std::int64_t text, Vector<std::int32_t>& scratch, Visit visit) const {
        if (features_.has_grams()) {
            for (const std::int32_t word : corpus_[text]) {
                if (word < 0) continue;
                for (std::int64_t g = word == 0 ? 0 : ends_[word - 1]; g < ends_[word]; ++g) {
                    if (numbers_[g] >= 0) visit(numbers_[g]);
                }
            }
            return;
        }
        if (!features_.has_pairs()) {
            for (const std::int32_t word : corpus_[text]) {
                if (word >= 0 && numbers_[word] >= 0) visit(numbers_[word]);
            }
            return;
        }
        scratch.clear();
        for (const std::int32_t word : corpus_[text]) {
            scratch.push_back(word < 0 ? -1 : numbers_[word]);
        }
        visit_words(features_, scratch.data(), scratch.size(), visit);
    }

 private:
    const TextCorpus& corpus_;
    const TextFeatures& features_;
    Vector<std::int32_t> numbers_;
    Vector<std::int64_t> ends_;
};

/// Finds the features of single texts.
class TextReader {
 public:
    explicit TextReader(const TextFeatures& features)
        : features_(features), grams_(features.grams()) {}

    /// Returns the features of a text, sorted and with repetitions.
    const Vector<std::int32_t>& read(std::string_view text) {
        found_.clear();
        words_.split(text);
        if (features_.has_grams()) {
            for (std::int64_t w = 0; w < words_.size(); ++w) add_grams(words_[w]);
        } else {
            add_words();
        }
        std::sort(found_.begin(), found_.end());
        return found_;
    }

 private:
    void add_grams(std::string_view word) {
        grams_.visit(word, [&](std::string_view gram, std::int64_t, std::int64_t) {
            const std::int32_t number = features_.find(gram);
            if (number >= 0 && features_.word_feature(number) >= 0) {
                found_.push_back(features_.word_feature(number));
            }
        });
    }

    void add_words() {
        numbers_.clear();
        for (std::int64_t w = 0; w < words_.size(); ++w) features_.prefetch(words_.key(w));
        for (std::int64_t w = 0; w < words_.size(); ++w) {
            numbers_.push_back(features_.find(words_[w], words_.key(w)));
        }
        visit_words(features_, numbers_.data(), numbers_.size(),
                    [&](std::int32_t feature) { found_.push_back(feature); });
    }

    const TextFeatures& features_;
    Words words_;
    CharacterGrams grams_;
    Vector<std::int32_t> numbers_;
    Vector<std::int32_t> found_;
};

Csr weigh_few(const Context& context, const Texts& texts, const TextFeatures& features) {
    PerWorker<TextReader> readers(context, [&] { return TextReader(features); });
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned worker) {
        const Vector<std::int32_t>& found = readers[worker].read(texts[row]);
        const std::int64_t begin = block.data.size();
        for (std::int64_t i = 0; i < found.size();) {
            std::int64_t j = i;
            while (j < found.size() && found[j] == found[i]) ++j;
            block.push(found[i], features.value(found[i], j - i));
            i = j;
        }
        normalise(block.data.data() + begin, block.data.size() - begin);
    };
    return build_rows(context, texts.size(), features.n_features(), 8, fill);
}

/// Counts the distinct features of a text.
struct Sizer {
    Vector<std::int32_t> scratch;
    Vector<std::int32_t> last_text;
};

/// Counts the occurrences of each feature in a text.
struct Counter {
    explicit Counter(std::int64_t n_features) : found(n_features), n_times(n_features) {}

    Vector<std::int32_t> scratch;
    OrderedSet found;
    Vector<std::int32_t> n_times;
};

}  // namespace

float TextFeatures::sublinear(std::int64_t n_times) {
    return static_cast<float>(1.0 + std::log(static_cast<double>(n_times)));
}

TextFeatures::TextFeatures(const StringList& words, Vector<std::int32_t> word_feature,
                           const Vector<std::int32_t>& pairs, Vector<float> idf, GramLengths grams)
    : word_feature_(std::move(word_feature)), idf_(std::move(idf)), grams_(grams) {
    check(word_feature_.size() == words.size(), "words must have a feature each");
    check(pairs.size() % 2 == 0, "pairs must have two words each");
    check_lengths(grams);
    check(grams.most == 0 || pairs.empty(), "n-grams have no pairs");
    const std::int64_t n_pairs = pairs.size() / 2;
    check(idf_.size() <= INT32_MAX, "features must have an idf each");
    Vector<std::uint8_t> is_word(idf_.size(), 0);
    std::int64_t n_single = 0;
    for (std::int32_t i = 0; i < words.size(); ++i) {
        check(vocabulary_.intern(words[i]) == i, "words of a vocabulary must differ");
        std::int32_t& feature = word_feature_[i];
        check(feature >= -1 && feature < idf_.size(),
              "features of words must be numbers of features or -1");
        if (feature < 0) continue;
        check(is_word[feature] == 0, "words must not share a feature");
        is_word[feature] = 1;
        ++n_single;
        if (idf_[feature] == 0.0F) feature = -1;
    }
    check(n_single + n_pairs == idf_.size(), "features must have an idf each");
    for (std::int64_t n = 1; n <= kTabulatedCounts; ++n) tf_[n - 1] = sublinear(n);
    if (n_pairs == 0) return;
    std::int64_t n_slots = 1024;
    while (2 * n_slots < 3 * n_pairs) n_slots *= 2;
    slots_.resize(n_slots);
    std::int32_t feature = -1;
    for (std::int64_t p = 0; p < n_pairs; ++p) {
        do ++feature;
        while (is_word[feature] != 0);
        const std::int32_t first = pairs[2 * p], second = pairs[2 * p + 1];
        check(first >= 0 && first < words.size() && second >= 0 && second < words.size(),
              "pairs must be numbers of words");
        if (idf_[feature] == 0.0F) continue;
        Slot& slot = slots_[probe(first, second, hash_pair(first, second))];
        check(slot.feature < 0, "pairs of a vocabulary must differ");
        slot = {first, second, feature};
    }
}

Csr weigh_features(const Context& context, const Texts& texts, const TextFeatures& features) {
    if (texts.size() < kFewTexts) return weigh_few(context, texts, features);
    return weigh_features(context, split_texts(context, texts), features);
}

Csr weigh_features(const Context& context, TextCorpus&& corpus, const TextFeatures& features) {
    const CorpusWords words(corpus, features);
    const std::int64_t n_texts = corpus.n_texts;
    context.expect(2 * n_texts);
    Csr result;
    result.n_cols = features.n_features();
    result.indptr.assign(n_texts + 1, 0);
    Vector<Sizer> sizers(context.n_threads());
    parallel_for(context, n_texts, kTextsPerBlock,
                 [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                     auto& [scratch, last_text] = sizers[worker];
                     if (last_text.empty()) last_text.assign(features.n_features(), -1);
                     for (std::int64_t text = begin; text < end; ++text) {
                         std::int64_t size = 0;
                         words.visit(text, scratch, [&](std::int32_t feature) {
                             size += last_text[feature] != text;
                             last_text[feature] = static_cast<std::int32_t>(text);
                         });
                         result.indptr[text + 1] = size;
                     }
                     context.advance(end - begin);
                 });
    sizers = Vector<Sizer>();
    for (std::int64_t text = 0; text < n_texts; ++text) {
        result.indptr[text + 1] += result.indptr[text];
    }
    // Reserved pages are not committed until they are written.
    result.indices.reserve(result.indptr.back());
    result.data.reserve(result.indptr.back());
    PerWorker<Counter> counters(context, [&] { return Counter(features.n_features()); });
    const auto write_row = [&](std::int64_t text, Counter& counter) {
        auto& [scratch, found, n_times] = counter;
        words.visit(text, scratch, [&](std::int32_t feature) {
            found.insert(feature);
            ++n_times[feature];
        });
        std::int64_t to = result.indptr[text];
        found.drain([&](std::int32_t feature) {
            result.indices[to] = feature;
            result.data[to++] = features.value(feature, n_times[feature]);
            n_times[feature] = 0;
        });
        const std::int64_t from = result.indptr[text];
        normalise(result.data.data() + from, to - from);
    };
    const std::int64_t n_blocks = corpus.blocks.size();
    const std::int64_t step =
        std::max<std::int64_t>((n_blocks + kParts - 1) / kParts, context.n_threads());
    for (std::int64_t block = 0; block < n_blocks; block += step) {
        const std::int64_t last_block = std::min(block + step, n_blocks);
        const std::int64_t first = block * TextCorpus::kTextsPerBlock;
        const std::int64_t last = std::min(last_block * TextCorpus::kTextsPerBlock, n_texts);
        result.indices.resize(result.indptr[last]);
        result.data.resize(result.indptr[last]);
        parallel_for(context, last - first, kTextsPerBlock,
                     [&](std::int64_t begin, std::int64_t end, unsigned worker) {
                         Counter& counter = counters[worker];
                         for (std::int64_t i = begin; i < end; ++i) write_row(first + i, counter);
                         context.advance(end - begin);
                     });
        for (std::int64_t b = block; b < last_block; ++b) corpus.blocks[b] = TextCorpus::Block();
        if (last_block < n_blocks) trim_heap();
    }
    return result;
}

Occurrences find_features(const Texts& words, const TextFeatures& features) {
    constexpr std::int64_t kWhole = INT32_MAX;
    Occurrences found;
    const auto add = [&](std::int32_t feature, std::int64_t first, std::int64_t last,
                         std::int64_t begin, std::int64_t end) {
        if (feature < 0) return;
        found.feature.push_back(feature);
        found.first.push_back(first);
        found.last.push_back(last);
        found.begin.push_back(begin);
        found.end.push_back(end);
    };
    CharacterGrams grams(features.grams());
    std::int32_t before = -1;
    for (std::int64_t w = 0; w < words.size(); ++w) {
        if (features.has_grams()) {
            grams.visit(words[w], [&](std::string_view gram, std::int64_t begin, std::int64_t end) {
                const std::int32_t number = features.find(gram);
                // Code point 0 is the space before the word.
                const std::int64_t from = std::max<std::int64_t>(begin - 1, 0);
                if (number >= 0) add(features.word_feature(number), w, w, from, end - 1);
            });
            continue;
        }
        const std::int32_t word = features.find(words[w]);
        if (word >= 0) add(features.word_feature(word), w, w, 0, kWhole);
        if (word >= 0 && before >= 0 && features.has_pairs()) {
            add(features.pair_feature(before, word, hash_pair(before, word)), w - 1, w, 0, kWhole);
        }
        before = word;
    }
    return found;
}

}  // namespace defrag
