// SPDX-License-Identifier: BSD-3-Clause
#include "core/words.hpp"

#include <algorithm>
#include <array>

#include "core/unicode_tables.hpp"

namespace defrag {
namespace {

enum class Kind : std::uint8_t { kOther = 0, kWord = 1, kSpaceless = 2 };

struct Character {
    std::uint32_t lower;
    Kind kind;
};

constexpr Character look_up(std::uint32_t code) {
    const std::uint32_t page = std::min(code / unicode::kPage, unicode::kPages - 1);
    const std::uint32_t place = unicode::kIndex[page] * unicode::kPage + code % unicode::kPage;
    const std::int32_t entry = unicode::kEntries[place];
    const auto kind = static_cast<Kind>(entry & 3);
    return {static_cast<std::uint32_t>(static_cast<std::int32_t>(code) + (entry >> 2)), kind};
}

/// Lower case of the ASCII characters of words; 0 for the others, NUL among them.
constexpr std::array<char, 128> make_ascii_table() {
    std::array<char, 128> table{};
    for (std::uint32_t code = 0; code < 128; ++code) {
        const Character character = look_up(code);
        if (character.kind == Kind::kWord) table[code] = static_cast<char>(character.lower);
    }
    return table;
}

constexpr std::array<char, 128> kAscii = make_ascii_table();

/// Decodes the code point at `at`, of valid UTF-8, and moves behind it.
std::uint32_t decode(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
    };
    const std::uint32_t first = byte(at++);
    const unsigned n_more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    std::uint32_t code = n_more == 0 ? first : first & (0x3FU >> n_more);
    for (unsigned i = 0; i < n_more && at < text.size(); ++i)
        code = code << 6 | (byte(at++) & 0x3F);
    return code;
}

void encode(std::uint32_t code, std::string& bytes) {
    const auto push = [&](std::uint32_t byte) { bytes.push_back(static_cast<char>(byte)); };
    if (code < 0x80) return push(code);
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
}

}  // namespace

void Words::add_spaceless(const std::vector<std::uint32_t>& run) {
    const std::size_t n_words = run.size() < 2 ? run.size() : run.size() - 1;
    for (std::size_t i = 0; i < n_words; ++i) {
        encode(run[i], bytes_);
        if (i + 1 < run.size()) encode(run[i + 1], bytes_);
        ends_.push_back(bytes_.size());
    }
}

void Words::split(std::string_view text) {
    bytes_.clear();
    ends_.clear();
    run_.clear();
    std::size_t begin = 0;     // of the word under way in bytes_
    std::size_t n_points = 0;  // its code points
    const auto end_word = [&] {
        if (n_points >= 2) {
            ends_.push_back(bytes_.size());
        } else {
            bytes_.resize(begin);
        }
        n_points = 0;
        begin = bytes_.size();
    };
    const auto end_run = [&] {
        add_spaceless(run_);
        run_.clear();
        begin = bytes_.size();
    };
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        Character character{};
        if (byte < 128) {
            character = {static_cast<std::uint32_t>(kAscii[byte]),
                         kAscii[byte] == 0 ? Kind::kOther : Kind::kWord};
            ++at;
        } else {
            character = look_up(decode(text, at));
        }
        if (character.kind != Kind::kWord && n_points > 0) end_word();
        if (character.kind != Kind::kSpaceless && !run_.empty()) end_run();
        if (character.kind == Kind::kWord) {
            encode(character.lower, bytes_);
            ++n_points;
        } else if (character.kind == Kind::kSpaceless) {
            run_.push_back(character.lower);
        }
    }
    if (n_points > 0) end_word();
    if (!run_.empty()) end_run();
}

}  // namespace defrag
