// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/base/arrays.hpp"
#include "core/text/string_key.hpp"

namespace defrag {

/// Concatenated strings: string i is bytes [ends[i - 1], ends[i]).
struct StringList {
    std::string bytes;
    Vector<std::int64_t> ends;

    std::int64_t size() const { return ends.size(); }
    std::string_view operator[](std::int64_t i) const {
        const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
        return {bytes.data() + begin, static_cast<std::size_t>(ends[i] - begin)};
    }
    void push(std::string_view string) {
        bytes += string;
        ends.push_back(static_cast<std::int64_t>(bytes.size()));
    }
};

/// Returns the numbers of the strings in byte order. O(n log n).
Vector<std::int32_t> order_by_bytes(const StringList& strings);

/// Returns a hash of a pair of numbers.
inline std::uint64_t hash_pair(std::int32_t first, std::int32_t second) {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(first)} << 32 | static_cast<std::uint32_t>(second);
    const std::uint64_t product = key * 0x9E3779B97F4A7C15ULL;
    return product ^ product >> 32;
}

/// A set of strings, numbered in order of insertion. Open addressing over their hashes, at most
/// three quarters full, with an exact comparison, for which the slot suffices if a string has at
/// most eight bytes. No result depends on the order of hashes.
class Vocabulary {
 public:
    static constexpr std::int32_t kNone = -1;

    std::int32_t size() const { return static_cast<std::int32_t>(strings_.size()); }
    std::string_view operator[](std::int32_t id) const { return strings_[id]; }
    const StringList& strings() const { return strings_; }
    /// Returns the strings and leaves the vocabulary empty.
    StringList take_strings() {
        slots_.clear();
        return std::exchange(strings_, StringList());
    }

    /// Returns the number of a string, or kNone. `key` is its key_of.
    std::int32_t find(std::string_view word, const StringKey& key) const {
        return slots_.empty() ? kNone : slots_[probe(word, key)].id;
    }
    std::int32_t find(std::string_view word) const { return find(word, key_of(word)); }

    /// Returns the number of a string, adding it if it is new. Throws std::length_error for more
    /// than 2^31 - 1 strings, and for a string of 2^32 bytes or more.
    std::int32_t intern(std::string_view word, const StringKey& key) {
        if (4 * (strings_.size() + 1) > 3 * slots_.size()) grow();
        const std::int64_t at = probe(word, key);
        return slots_[at].id != kNone ? slots_[at].id : add(word, key, at);
    }
    std::int32_t intern(std::string_view word) { return intern(word, key_of(word)); }

    /// Prefetches the first slot of a search.
    void prefetch(const StringKey& key) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(key)]);
    }

 private:
    struct Slot {
        std::uint64_t first = 0;  ///< of the string's key
        std::uint32_t size = 0;
        std::int32_t id = kNone;
    };
    std::int64_t first_slot(const StringKey& key) const {
        return static_cast<std::int64_t>(key.hash) & (slots_.size() - 1);
    }
    bool is_at(const Slot& slot, std::string_view word, const StringKey& key) const {
        return slot.first == key.first && slot.size == word.size() &&
               (word.size() <= 8 || strings_[slot.id] == word);
    }
    /// Returns the slot of a string, or the empty slot for inserting it.
    std::int64_t probe(std::string_view word, const StringKey& key) const {
        const std::int64_t mask = slots_.size() - 1;
        std::int64_t at = first_slot(key);
        while (slots_[at].id != kNone && !is_at(slots_[at], word, key)) at = (at + 1) & mask;
        return at;
    }
    std::int32_t add(std::string_view word, const StringKey& key, std::int64_t slot);
    void grow();

    StringList strings_;
    Vector<Slot> slots_;
};

}  // namespace defrag
