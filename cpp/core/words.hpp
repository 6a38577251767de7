// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace defrag {

/// The words of a text, in lower case, one after another in one string.
class Words {
 public:
    std::size_t size() const { return ends_.size(); }
    std::string_view operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::string_view(bytes_).substr(begin, ends_[i] - begin);
    }

    /// Replaces the words by those of a text in valid UTF-8. A word is a maximal run of at least
    /// two letters, marks, digits, connectors and joiners (`\w` of UTS #18). A run of a script
    /// written without spaces becomes its overlapping pairs of code points, or one code point if
    /// it has no more. O(size); the memory is kept for the next text.
    void split(std::string_view text);

 private:
    void add_spaceless(const std::vector<std::uint32_t>& run);

    std::string bytes_;
    std::vector<std::size_t> ends_;
    std::vector<std::uint32_t> run_;
};

}  // namespace defrag
