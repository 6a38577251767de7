// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace defrag {

/// A set of strings, numbered in the order of their arrival: open addressing over their hashes,
/// at most half full. The hash depends on the bytes alone, and no order that depends on it can be
/// seen.
class Vocabulary {
 public:
    static constexpr std::int32_t kNone = -1;

    std::int32_t size() const { return static_cast<std::int32_t>(ends_.size()); }
    std::string_view operator[](std::int32_t id) const;

    /// The number of a string, or kNone.
    std::int32_t find(std::string_view word) const;

    /// The number of a string, which is added if it is new.
    std::int32_t intern(std::string_view word);

 private:
    struct Slot {
        std::uint32_t tag = 0;
        std::int32_t id = kNone;
    };
    void grow();
    /// The slot of a string, or the empty one where it belongs.
    std::size_t probe(std::string_view word, std::uint64_t hash) const;

    std::string bytes_;
    std::vector<std::size_t> ends_;
    std::vector<Slot> slots_;
};

/// A hash of some bytes, the same on every machine.
std::uint64_t hash_bytes(std::string_view bytes);

}  // namespace defrag
