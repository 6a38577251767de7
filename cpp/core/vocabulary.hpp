// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/arrays.hpp"

namespace defrag {

/// Strings one after another: string i is bytes [ends[i - 1], ends[i]).
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

/// The numbers of some strings in the order of their bytes. O(n log n).
Vector<std::int32_t> order_by_bytes(const StringList& strings);

/// A hash of some bytes. It depends on them and on the byte order of the machine.
std::uint64_t hash_bytes(std::string_view bytes);

/// A hash of a pair of numbers.
inline std::uint64_t hash_pair(std::int32_t first, std::int32_t second) {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(first)} << 32 | static_cast<std::uint32_t>(second);
    const std::uint64_t product = key * 0x9E3779B97F4A7C15ULL;
    return product ^ product >> 32;
}

/// A set of strings, numbered in the order of their arrival: open addressing over their hashes,
/// at most half full, and an exact comparison. No order that depends on a hash can be seen.
class Vocabulary {
 public:
    static constexpr std::int32_t kNone = -1;

    std::int32_t size() const { return static_cast<std::int32_t>(strings_.size()); }
    std::string_view operator[](std::int32_t id) const { return strings_[id]; }
    const StringList& strings() const { return strings_; }
    /// The strings; the vocabulary is empty afterwards.
    StringList take_strings() {
        slots_.clear();
        return std::exchange(strings_, StringList());
    }

    /// The number of a string, or kNone. `hash` is its hash_bytes.
    std::int32_t find(std::string_view word, std::uint64_t hash) const {
        return slots_.empty() ? kNone : slots_[probe(word, hash)].id;
    }

    /// The number of a string, which is added if it is new.
    std::int32_t intern(std::string_view word, std::uint64_t hash);
    std::int32_t intern(std::string_view word) { return intern(word, hash_bytes(word)); }

    /// Fetches the memory that a search for a hash begins with.
    void prefetch(std::uint64_t hash) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(hash)]);
    }

 private:
    struct Slot {
        std::uint32_t tag = 0;
        std::int32_t id = kNone;
    };
    std::int64_t first_slot(std::uint64_t hash) const {
        return static_cast<std::int64_t>(hash) & (slots_.size() - 1);
    }
    void grow();
    /// The slot of a string, or the empty one where it belongs.
    std::int64_t probe(std::string_view word, std::uint64_t hash) const;

    StringList strings_;
    Vector<Slot> slots_;
};

}  // namespace defrag
