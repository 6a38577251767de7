// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "core/base/arrays.hpp"
#include "core/text/string_key.hpp"

namespace defrag {

/// Writes a code point as UTF-8 and returns the end.
inline char* encode(std::uint32_t code, char* to) {
    const auto push = [&](std::uint32_t byte) { *to++ = static_cast<char>(byte); };
    if (code < 0x80) {
        push(code);
        return to;
    }
    if (code < 0x800) {
        push(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        push(0xE0 | code >> 12);
        push(0x80 | (code >> 6 & 0x3F));
    } else {
        push(0xF0 | code >> 18);
        push(0x80 | (code >> 12 & 0x3F));
        push(0x80 | (code >> 6 & 0x3F));
    }
    push(0x80 | (code & 0x3F));
    return to;
}

/// The position of a word in its text: bytes [begin, end).
struct WordPlace {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// The words of a text, in lower case, with their keys.
class Words {
 public:
    std::int64_t size() const { return items_.size(); }
    std::string_view operator[](std::int64_t i) const {
        return {buffer_.data() + items_[i].begin, items_[i].size};
    }
    /// key_of word i.
    const StringKey& key(std::int64_t i) const { return items_[i].key; }
    WordPlace place(std::int64_t i) const { return places_[i]; }

    /// Replaces the words by those of a text in valid UTF-8. A word is a maximal run of at least
    /// two letters, marks, digits, connectors and joiners (`\w` of UTS #18). A run of a script
    /// written without spaces becomes its overlapping pairs of code points, or a single code point
    /// if it has only one. O(size). Memory: twice the longest text, reused.
    void split(std::string_view text) { scan<false>(text); }

    /// Like `split`, and records the positions of the words.
    void split_with_places(std::string_view text) { scan<true>(text); }

 private:
    struct Item {
        std::size_t begin;
        std::size_t size;
        StringKey key;
    };
    struct RunCharacter {
        std::uint32_t code;
        WordPlace place;
    };
    template <bool kPlaces>
    void scan(std::string_view text);
    template <bool kPlaces>
    void push(std::size_t begin, std::size_t end, WordPlace place);
    template <bool kPlaces>
    std::size_t push_spaceless(std::size_t begin);

    Vector<char> buffer_;
    Vector<Item> items_;
    Vector<WordPlace> places_;
    Vector<RunCharacter> run_;
};

/// Returns, for each of some ascending byte positions, the number of code points of a text in valid
/// UTF-8 that begin before it.
Vector<std::int64_t> code_points_before(std::string_view text, const Vector<std::size_t>& places);

}  // namespace defrag
