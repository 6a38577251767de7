// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <stdexcept>

#include "core/base/arrays.hpp"

namespace defrag {

/// Runs of numbers in as many bits as their run needs, one after the other without gaps, low bits
/// first: the items [ends[r - 1], ends[r]) of run r have widths[r] <= 32 bits, the first run begins
/// at item 0. Linear in the number of items.
struct BitRuns {
    const std::int64_t* ends;
    const std::uint8_t* widths;
    std::int64_t n_runs;

    std::int64_t n_items() const { return n_runs > 0 ? ends[n_runs - 1] : 0; }

    /// Returns the number of bytes; throws std::invalid_argument if runs cross or are too wide.
    std::int64_t n_bytes() const {
        std::int64_t n_bits = 0;
        for (std::int64_t r = 0, item = 0; r < n_runs; item = ends[r++]) {
            const bool fits = ends[r] >= item && ends[r] < std::int64_t{1} << 56;
            if (!fits || widths[r] > 32) throw std::invalid_argument("runs of bits must fit");
            n_bits += (ends[r] - item) * widths[r];
        }
        return (n_bits + 7) / 8;
    }
};

/// Packs values, of which the low bits count.
inline Vector<std::uint8_t> pack_bits(const BitRuns& runs, const std::uint32_t* values) {
    Vector<std::uint8_t> packed(runs.n_bytes());
    std::uint64_t held = 0;  // bits that do not fill a byte yet
    int n_held = 0;
    std::int64_t place = 0;
    for (std::int64_t r = 0, item = 0; r < runs.n_runs; ++r) {
        const std::uint64_t mask = (std::uint64_t{1} << runs.widths[r]) - 1;
        for (; item < runs.ends[r]; ++item) {
            held |= (values[item] & mask) << n_held;
            for (n_held += runs.widths[r]; n_held >= 8; n_held -= 8, held >>= 8) {
                packed[place++] = static_cast<std::uint8_t>(held);
            }
        }
    }
    if (n_held > 0) packed[place] = static_cast<std::uint8_t>(held);
    return packed;
}

/// Restores the values of pack_bits. Throws std::invalid_argument if there are not as many bytes.
inline Vector<std::uint32_t> unpack_bits(const BitRuns& runs, const std::uint8_t* packed,
                                         std::int64_t n_packed) {
    if (runs.n_bytes() != n_packed) throw std::invalid_argument("runs of bits must fill the bytes");
    Vector<std::uint32_t> values;
    values.resize_for_overwrite(runs.n_items());
    std::uint64_t held = 0;
    int n_held = 0;
    for (std::int64_t r = 0, item = 0; r < runs.n_runs; ++r) {
        const int width = runs.widths[r];
        const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
        for (; item < runs.ends[r]; ++item) {
            for (; n_held < width; n_held += 8) held |= std::uint64_t{*packed++} << n_held;
            values[item] = static_cast<std::uint32_t>(held & mask);
            held >>= width;
            n_held -= width;
        }
    }
    return values;
}

}  // namespace defrag
