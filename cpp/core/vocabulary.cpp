// SPDX-License-Identifier: BSD-3-Clause
#include "core/vocabulary.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace defrag {
namespace {

constexpr std::int64_t kLeastSlots = 1024;

std::uint64_t mix(std::uint64_t state) {
    state ^= state >> 32;
    state *= 0xD6E8FEB86659FD93ULL;
    state ^= state >> 29;
    return state;
}

template <class Integer>
std::uint64_t load(const char* from) {
    Integer value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// The first eight bytes as a number, so that smaller numbers are smaller strings.
std::uint64_t sort_prefix(std::string_view string) {
    std::uint64_t prefix = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        prefix = prefix << 8 | (i < string.size() ? static_cast<unsigned char>(string[i]) : 0U);
    }
    return prefix;
}

}  // namespace

Vector<std::int32_t> order_by_bytes(const StringList& strings) {
    struct Key {
        std::uint64_t prefix;
        std::int32_t id;
    };
    const auto n_strings = static_cast<std::int32_t>(strings.size());
    Vector<Key> keys;
    keys.reserve(n_strings);
    for (std::int32_t id = 0; id < n_strings; ++id) keys.push_back({sort_prefix(strings[id]), id});
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
        return a.prefix != b.prefix ? a.prefix < b.prefix : strings[a.id] < strings[b.id];
    });
    Vector<std::int32_t> order;
    order.reserve(n_strings);
    for (const Key& key : keys) order.push_back(key.id);
    return order;
}

std::uint64_t hash_bytes(std::string_view bytes) {
    const std::size_t size = bytes.size();
    const char* from = bytes.data();
    std::uint64_t state = 0x9E3779B97F4A7C15ULL ^ size;
    std::uint64_t rest = 0;
    if (size >= 8) {
        for (std::size_t at = 0; at + 8 < size; at += 8) {
            state = mix(state ^ load<std::uint64_t>(from + at));
        }
        rest = load<std::uint64_t>(from + size - 8);  // may overlap the last chunk
    } else if (size >= 4) {
        rest = load<std::uint32_t>(from) | load<std::uint32_t>(from + size - 4) << 32;
    } else if (size > 0) {
        rest = load<std::uint8_t>(from) | load<std::uint8_t>(from + size / 2) << 8 |
               load<std::uint8_t>(from + size - 1) << 16;
    }
    return mix(mix(state ^ rest) * 0x9FB21C651E98DF25ULL);
}

std::int64_t Vocabulary::probe(std::string_view word, std::uint64_t hash) const {
    const std::int64_t mask = slots_.size() - 1;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::int64_t at = first_slot(hash);
    while (slots_[at].id != kNone) {
        if (slots_[at].tag == tag && strings_[slots_[at].id] == word) break;
        at = (at + 1) & mask;
    }
    return at;
}

std::int32_t Vocabulary::intern(std::string_view word, std::uint64_t hash) {
    if (2 * (strings_.size() + 1) > slots_.size()) grow();
    Slot& slot = slots_[probe(word, hash)];
    if (slot.id == kNone) {
        if (size() == INT32_MAX) throw std::length_error("more than 2^31 - 1 distinct words");
        strings_.push(word);
        slot = {static_cast<std::uint32_t>(hash >> 32), size() - 1};
    }
    return slot.id;
}

void Vocabulary::grow() {
    Vector<Slot> fresh(slots_.empty() ? kLeastSlots : 2 * slots_.size());
    slots_.swap(fresh);
    for (std::int32_t id = 0; id < size(); ++id) {
        const std::uint64_t hash = hash_bytes((*this)[id]);
        std::int64_t at = first_slot(hash);
        while (slots_[at].id != kNone) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = {static_cast<std::uint32_t>(hash >> 32), id};
    }
}

}  // namespace defrag
