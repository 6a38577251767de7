// SPDX-License-Identifier: BSD-3-Clause
#include "core/text/vocabulary.hpp"

#include <algorithm>
#include <stdexcept>

namespace defrag {
namespace {

constexpr std::int64_t kLeastSlots = 1024;

/// Returns the first eight bytes as an integer that sorts like the string.
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

std::int32_t Vocabulary::add(std::string_view word, const StringKey& key, std::int64_t slot) {
    if (size() == INT32_MAX) throw std::length_error("more than 2^31 - 1 distinct words");
    if (word.size() > UINT32_MAX) throw std::length_error("a word of 2^32 bytes or more");
    strings_.push(word);
    slots_[slot] = {key.first, static_cast<std::uint32_t>(word.size()), size() - 1};
    return size() - 1;
}

void Vocabulary::grow() {
    Vector<Slot> fresh(slots_.empty() ? kLeastSlots : 2 * slots_.size());
    slots_.swap(fresh);
    for (const Slot& slot : fresh) {
        if (slot.id == kNone) continue;
        std::int64_t at = first_slot(key_of(strings_[slot.id]));
        while (slots_[at].id != kNone) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
}

}  // namespace defrag
