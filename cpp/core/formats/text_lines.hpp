// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cctype>
#include <cstddef>
#include <cstring>
#include <string>

namespace defrag {

// Tokens and lines of a text. All of these functions require the text to end with a line feed.

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline const char* skip_blanks(const char* here) {
    while (is_blank(*here)) ++here;
    return here;
}

/// Returns whether the content of the line ends here, at its end or at a comment. Since the text
/// ends with a line feed, a carriage return always has a successor.
inline bool at_line_end(const char* here) {
    return *here == '\n' || *here == '#' || (*here == '\r' && here[1] == '\n');
}

inline bool at_token_end(const char* here) { return is_blank(*here) || at_line_end(here); }

inline const char* skip_line(const char* here, const char* end) {
    const void* found = std::memchr(here, '\n', static_cast<std::size_t>(end - here));
    return static_cast<const char*>(found) + 1;
}

/// Returns the text from `here` to the next blank or line end for an error message: in quotes, at
/// most 40 bytes, unprintable bytes as \xNN.
inline std::string quote(const char* here) {
    constexpr std::ptrdiff_t kLongest = 40;
    static constexpr char kHex[] = "0123456789abcdef";
    std::string text = "'";
    const char* begin = here;
    for (; !at_token_end(here) && here - begin < kLongest; ++here) {
        const auto byte = static_cast<unsigned char>(*here);
        if (byte >= 0x20 && byte < 0x7f) {
            text += *here;
        } else {
            text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        }
    }
    return text + (at_token_end(here) ? "'" : "...'");
}

inline bool is_non_finite_word(const char* here) {
    if (*here == '-' || *here == '+') ++here;
    std::string word;
    for (; word.size() < 9 && !at_token_end(here); ++here) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(*here)));
    }
    return word == "nan" || word == "inf" || word == "infinity";
}

}  // namespace defrag
