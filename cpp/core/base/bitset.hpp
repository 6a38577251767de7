// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/base/csr.hpp"

namespace defrag {

/// Returns the number of ones. Written out because baseline x86-64 lacks the instruction, and the
/// compiler would call a function.
inline std::uint32_t count_ones(std::uint32_t bits) {
    bits -= (bits >> 1) & 0x55555555U;
    bits = (bits & 0x33333333U) + ((bits >> 2) & 0x33333333U);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0FU;
    return (bits * 0x01010101U) >> 24;
}

/// A set of small integers that is drained in ascending order. A second level of bits marks the
/// words in use, so that draining costs O(members + range / 4096): for rows of a few hundred
/// non-zeros this is several times faster than sorting.
class OrderedSet {
 public:
    explicit OrderedSet(std::int64_t range) : words_(range / 64 + 1), summary_(range / 4096 + 1) {}

    void insert(std::int32_t member) {
        const auto i = static_cast<std::uint32_t>(member);
        words_[i >> 6] |= std::uint64_t{1} << (i & 63);
        summary_[i >> 12] |= std::uint64_t{1} << ((i >> 6) & 63);
    }

    /// Calls visit(member) in ascending order and empties the set.
    template <class Visit>
    void drain(Visit visit) {
        for (std::int64_t s = 0; s < summary_.size(); ++s) {
            for (std::uint64_t used = summary_[s]; used != 0; used &= used - 1) {
                const std::int64_t w = s * 64 + lowest_bit(used);
                for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1) {
                    visit(static_cast<std::int32_t>(w * 64 + lowest_bit(bits)));
                }
                words_[w] = 0;
            }
            summary_[s] = 0;
        }
    }

 private:
    static std::int64_t lowest_bit(std::uint64_t bits) { return __builtin_ctzll(bits); }

    Vector<std::uint64_t> words_;
    Vector<std::uint64_t> summary_;
};

}  // namespace defrag
