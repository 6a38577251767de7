// SPDX-License-Identifier: BSD-3-Clause
#include "core/feature_index.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kBitsPerFeature = 8;

/// Fibonacci hashing; its high bits are the good ones.
std::uint32_t hash(std::int32_t feature) {
    return static_cast<std::uint32_t>(feature) * 0x9E3779B1U;
}

/// Number of ones. Written out, because the oldest processors of the family lack the
/// instruction and the compiler would call a function.
std::uint32_t count_ones(std::uint64_t bits) {
    bits -= (bits >> 1) & 0x5555555555555555ULL;
    bits = (bits & 0x3333333333333333ULL) + ((bits >> 2) & 0x3333333333333333ULL);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0FULL;
    return static_cast<std::uint32_t>((bits * 0x0101010101010101ULL) >> 56);
}

/// How many ones of a bitmap word stand before a key.
std::uint32_t ones_before(std::uint64_t bits, std::uint32_t key) {
    return count_ones(bits & ((std::uint64_t{1} << (key & 63)) - 1));
}

}  // namespace

FeatureIndex::FeatureIndex(const std::int64_t* feature_ptr, const std::int32_t* features,
                           const std::int64_t* entry_ptr, std::int64_t n_nodes)
    : tables_(n_nodes), slots_(feature_ptr[n_nodes]) {
    std::int64_t n_words = 0;
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        const std::int64_t n_features = feature_ptr[node + 1] - feature_ptr[node];
        std::uint32_t log_bits = 6;  // one word
        while ((std::int64_t{1} << log_bits) < n_features * kBitsPerFeature && log_bits < 31) {
            ++log_bits;
        }
        tables_[node] = {n_words, feature_ptr[node], entry_ptr[feature_ptr[node]],
                         (1U << log_bits) - 1, 32 - log_bits};
        n_words += std::int64_t{1} << (log_bits - 6);
    }
    words_.assign(n_words, Word{0, 0});
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        const std::int64_t first = feature_ptr[node];
        build(tables_[node], features + first, entry_ptr + first, feature_ptr[node + 1] - first);
    }
}

void FeatureIndex::build(const Table& table, const std::int32_t* features,
                         const std::int64_t* entry_ptr, std::int64_t n_features) {
    Word* words = words_.data() + table.first_word;
    Vector<std::uint32_t> keys(n_features);
    for (std::int64_t i = 0; i < n_features; ++i) {
        std::uint32_t key = hash(features[i]) >> table.shift;
        while ((words[key >> 6].bits >> (key & 63) & 1) != 0) key = (key + 1) & table.mask;
        words[key >> 6].bits |= std::uint64_t{1} << (key & 63);
        keys[i] = key;
    }
    std::uint32_t rank = 0;
    for (std::uint32_t w = 0; w <= table.mask >> 6; ++w) {
        words[w].rank = rank;
        rank += count_ones(words[w].bits);
    }
    for (std::int64_t i = 0; i < n_features; ++i) {
        const Word& word = words[keys[i] >> 6];
        const std::uint32_t place = word.rank + ones_before(word.bits, keys[i]);
        slots_[table.first_slot + place] = {
            features[i], static_cast<std::uint32_t>(entry_ptr[i] - table.first_entry),
            static_cast<std::uint32_t>(entry_ptr[i + 1] - entry_ptr[i])};
    }
}

std::int64_t FeatureIndex::find(std::int64_t node, const std::int32_t* indices,
                                std::int64_t n_indices, Hit* hits) const {
    const Table& table = tables_[node];
    const Word* words = words_.data() + table.first_word;
    const Slot* slots = slots_.data() + table.first_slot;
    // First all bits: no branch, so that the processor fetches many words at once. A hit
    // holds its key for the time being.
    std::int64_t n_candidates = 0;
    for (std::int64_t i = 0; i < n_indices; ++i) {
        const std::uint32_t key = hash(indices[i]) >> table.shift;
        const Word& word = words[key >> 6];
        const std::uint32_t place = word.rank + ones_before(word.bits, key);
        __builtin_prefetch(slots + place);
        hits[n_candidates] = {place, key, static_cast<std::uint32_t>(i)};
        n_candidates += static_cast<std::int64_t>(word.bits >> (key & 63) & 1);
    }
    std::int64_t n_hits = 0;
    for (std::int64_t c = 0; c < n_candidates; ++c) {
        const std::uint32_t position = hits[c].position;
        const Slot* slot = slots + hits[c].first;
        std::uint32_t key = hits[c].count;
        bool found = slot->feature == indices[position];
        while (!found) {
            key = (key + 1) & table.mask;
            const Word& word = words[key >> 6];
            if ((word.bits >> (key & 63) & 1) == 0) break;
            slot = slots + word.rank + ones_before(word.bits, key);
            found = slot->feature == indices[position];
        }
        if (found) hits[n_hits++] = {table.first_entry + slot->first, slot->count, position};
    }
    return n_hits;
}

}  // namespace defrag
