// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/arrays.hpp"

namespace defrag {

/// The lengths of character n-grams, in code points; no n-grams if `most` is 0.
struct GramLengths {
    std::int32_t least = 0;
    std::int32_t most = 0;
};

/// Throws std::invalid_argument unless `most` is 0 or 1 <= least <= most.
inline void check_lengths(GramLengths lengths) {
    const std::int32_t low = lengths.most == 0 ? 0 : 1;
    if (lengths.least < low || lengths.least > lengths.most) {
        throw std::invalid_argument("lengths of n-grams must be positive and must not decrease");
    }
}

/// The character n-grams of a word padded with a space on either side. A padded word shorter than
/// an n-gram is a single n-gram, and has no longer ones.
class CharacterGrams {
 public:
    explicit CharacterGrams(GramLengths lengths) : lengths_(lengths) {}

    /// Calls visit(gram, first, last) for the n-grams of a word in valid UTF-8; [first, last) are
    /// code points of the padded word. O(n-grams).
    template <class Visit>
    void visit(std::string_view word, Visit visit) {
        padded_.assign(1, ' ');
        padded_ += word;
        padded_ += ' ';
        starts_.clear();
        for (std::size_t at = 0; at < padded_.size(); ++at) {
            if ((static_cast<unsigned char>(padded_[at]) & 0xC0) != 0x80) starts_.push_back(at);
        }
        starts_.push_back(padded_.size());
        const std::int64_t n_points = starts_.size() - 1;
        for (std::int64_t n = lengths_.least; n <= lengths_.most; ++n) {
            const std::int64_t last_start = n_points > n ? n_points - n : 0;
            for (std::int64_t first = 0; first <= last_start; ++first) {
                const std::int64_t last = first + n < n_points ? first + n : n_points;
                const std::size_t begin = starts_[first];
                visit(std::string_view(padded_).substr(begin, starts_[last] - begin), first, last);
            }
            if (last_start == 0) break;
        }
    }

 private:
    GramLengths lengths_;
    std::string padded_;
    Vector<std::size_t> starts_;
};

}  // namespace defrag
