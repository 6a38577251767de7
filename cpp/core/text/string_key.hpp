// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace defrag {

/// Reads a little-endian integer on any machine.
template <class Integer>
std::uint64_t load_little(const char* from) {
    Integer value = 0;
    std::memcpy(&value, from, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(std::uint64_t{value}) >> (64 - 8 * sizeof value);
#else
    return value;
#endif
}

/// Writes a little-endian 64-bit integer on any machine.
inline void store_little(std::uint64_t value, char* to) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    std::memcpy(to, &value, sizeof value);
}

/// The look-up key of a string.
struct StringKey {
    std::uint64_t first = 0;  ///< its first eight bytes, zero-padded
    std::uint64_t hash = 0;
};

/// Returns the key of `size` bytes whose first eight are known. O(size).
inline StringKey finish_key(const char* from, std::size_t size, std::uint64_t first) {
    const auto mix = [](std::uint64_t state) {
        state = (state ^ state >> 32) * 0xD6E8FEB86659FD93ULL;
        return state ^ state >> 29;
    };
    std::uint64_t state = mix(0x9E3779B97F4A7C15ULL ^ size ^ first);
    if (size > 8) {
        for (std::size_t at = 8; at + 8 < size; at += 8) {
            state = mix(state ^ load_little<std::uint64_t>(from + at));
        }
        state = mix(state ^ load_little<std::uint64_t>(from + size - 8));  // may overlap the last
    }
    return {first, mix(state * 0x9FB21C651E98DF25ULL)};
}

/// Returns the key of a string. O(size).
inline StringKey key_of(std::string_view string) {
    const std::size_t size = string.size();
    const char* from = string.data();
    std::uint64_t first = 0;
    if (size >= 8) {
        first = load_little<std::uint64_t>(from);
    } else if (size >= 4) {
        const std::uint64_t last = load_little<std::uint32_t>(from + size - 4);
        first = load_little<std::uint32_t>(from) | last >> (8 * (8 - size)) << 32;
    } else {
        for (std::size_t i = 0; i < size; ++i) {
            first |= load_little<std::uint8_t>(from + i) << (8 * i);
        }
    }
    return finish_key(from, size, first);
}

/// Returns the key of a string followed by eight readable bytes of any value.
inline StringKey key_of_padded(const char* from, std::size_t size) {
    std::uint64_t first = load_little<std::uint64_t>(from);
    if (size < 8) first &= (std::uint64_t{1} << (8 * size)) - 1;
    return finish_key(from, size, first);
}

}  // namespace defrag
