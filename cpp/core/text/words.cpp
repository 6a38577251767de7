// SPDX-License-Identifier: BSD-3-Clause
#include "core/text/words.hpp"

#include <algorithm>
#include <array>

namespace defrag {
namespace {

#include "core/text/unicode_tables.inc"

/// Writes out runs, given by their lengths and values.
template <class T, std::size_t kSize, std::size_t kNumbers>
constexpr std::array<T, kSize> expand(const std::int32_t (&runs)[kNumbers]) {
    std::array<T, kSize> values{};
    std::size_t end = 0;
    for (std::size_t run = 0; run < kNumbers; run += 2) {
        for (std::int32_t i = 0; i < runs[run]; ++i) values[end++] = static_cast<T>(runs[run + 1]);
    }
    return values;
}

constexpr auto kPageOf = expand<std::uint16_t, kPages>(kIndexRuns);
constexpr auto kEntryOf = expand<std::int32_t, kEntries>(kEntryRuns);

enum class Kind : std::uint8_t { kOther = 0, kWord = 1, kSpaceless = 2 };

struct Character {
    std::uint32_t lower;
    Kind kind;
};

constexpr Character look_up(std::uint32_t code) {
    const std::uint32_t page = std::min(code / kPage, kPages - 1);
    const std::int32_t entry = kEntryOf[kPageOf[page] * kPage + code % kPage];
    const auto kind = static_cast<Kind>(entry & 3);
    return {static_cast<std::uint32_t>(static_cast<std::int32_t>(code) + (entry >> 2)), kind};
}

/// Lower case of the ASCII word characters; 0 for other bytes, including NUL.
constexpr std::array<char, 256> make_ascii_table() {
    std::array<char, 256> table{};
    for (std::uint32_t code = 0; code < 128; ++code) {
        const Character character = look_up(code);
        if (character.kind == Kind::kWord) table[code] = static_cast<char>(character.lower);
    }
    return table;
}

constexpr std::array<char, 256> kAscii = make_ascii_table();

constexpr std::uint64_t eight_times(std::uint64_t byte) { return 0x0101010101010101ULL * byte; }
constexpr std::uint64_t kHighBits = eight_times(0x80);

/// Returns the high bits of the bytes in [low, high]; all eight bytes must be below 128.
constexpr std::uint64_t between(std::uint64_t bytes, std::uint64_t low, std::uint64_t high) {
    return (bytes + eight_times(0x80 - low)) & ~(bytes + eight_times(0x7F - high)) & kHighBits;
}

/// Classifies eight bytes of a text at once and converts ASCII word characters to lower case.
struct EightBytes {
    explicit constexpr EightBytes(std::uint64_t bytes) {
        const std::uint64_t low = bytes & ~kHighBits;
        const std::uint64_t capitals = between(low, 'A', 'Z');
        const std::uint64_t others =
            between(low, 'a', 'z') | between(low, '0', '9') | between(low, '_', '_');
        lower = bytes | capitals >> 2;
        not_word = ~((capitals | others) & ~bytes) & kHighBits;
    }
    /// Number of bytes before the first that is not an ASCII word character.
    std::size_t n_word() const {
        return not_word == 0 ? 8 : static_cast<std::size_t>(__builtin_ctzll(not_word)) / 8;
    }

    std::uint64_t lower = 0;
    std::uint64_t not_word = 0;  ///< the high bits of bytes that are not ASCII word characters
};

constexpr bool agrees_with_table() {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        for (unsigned place = 0; place < 64; place += 8) {
            const EightBytes eight(std::uint64_t{byte} << place);
            const bool is_word = (eight.not_word >> place & 0x80) == 0;
            const auto lower = static_cast<unsigned char>(eight.lower >> place & 0xFF);
            if (is_word != (kAscii[byte] != 0)) return false;
            if (is_word && lower != static_cast<unsigned char>(kAscii[byte])) return false;
        }
    }
    return true;
}
static_assert(agrees_with_table());

unsigned char byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

/// Decodes the code point at `at` of valid UTF-8 and advances `at` past it.
std::uint32_t decode(std::string_view text, std::size_t& at) {
    const std::uint32_t first = byte_at(text, at++);
    const unsigned n_more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    std::uint32_t code = n_more == 0 ? first : first & (0x3FU >> n_more);
    for (unsigned i = 0; i < n_more && at < text.size(); ++i) {
        code = code << 6 | (byte_at(text, at++) & 0x3FU);
    }
    return code;
}

/// Copies the ASCII word characters from `at` on in lower case and advances `at` past them. Returns
/// the end of the copy; up to eight bytes after it may be overwritten.
char* copy_ascii(std::string_view text, std::size_t& at, char* to) {
    while (at + 8 <= text.size()) {
        const EightBytes eight(load_little<std::uint64_t>(text.data() + at));
        store_little(eight.lower, to);
        const std::size_t n = eight.n_word();
        at += n;
        to += n;
        if (n < 8) return to;
    }
    for (; at < text.size() && kAscii[byte_at(text, at)] != 0; ++at) {
        *to++ = kAscii[byte_at(text, at)];
    }
    return to;
}

}  // namespace

template <bool kPlaces>
void Words::push(std::size_t begin, std::size_t end, WordPlace place) {
    const std::size_t size = end - begin;
    items_.push_back({begin, size, key_of_padded(buffer_.data() + begin, size)});
    if constexpr (kPlaces) places_.push_back(place);
}

/// Writes the words of a run of a script without spaces from `begin` on, and returns their end.
template <bool kPlaces>
std::size_t Words::push_spaceless(std::size_t begin) {
    const std::int64_t n_words = std::max<std::int64_t>(1, run_.size() - 1);
    for (std::int64_t i = 0; i < n_words; ++i) {
        const std::int64_t last = std::min(i + 1, run_.size() - 1);
        char* to = encode(run_[i].code, buffer_.data() + begin);
        if (last > i) to = encode(run_[last].code, to);
        const auto end = static_cast<std::size_t>(to - buffer_.data());
        push<kPlaces>(begin, end, {run_[i].place.begin, run_[last].place.end});
        begin = end;
    }
    run_.clear();
    return begin;
}

template <bool kPlaces>
void Words::scan(std::string_view text) {
    // Lower case is at most half as long again, and pairs contain each character twice.
    const auto n_bytes = static_cast<std::int64_t>(2 * text.size() + 8);
    if (buffer_.size() < n_bytes) buffer_.resize(n_bytes);
    items_.clear();
    if constexpr (kPlaces) places_.clear();
    run_.clear();
    std::size_t begin = 0;         // of the current word in the buffer
    char* to = buffer_.data();     // its end
    std::size_t n_points = 0;      // its number of code points
    std::size_t source_begin = 0;  // its position in the text
    const auto end_word = [&](std::size_t source_end) {
        if (n_points >= 2) {
            const auto end = static_cast<std::size_t>(to - buffer_.data());
            push<kPlaces>(begin, end, {source_begin, source_end});
            begin = end;
        } else {
            to = buffer_.data() + begin;
        }
        n_points = 0;
    };
    const auto end_run = [&] {
        begin = push_spaceless<kPlaces>(begin);
        to = buffer_.data() + begin;
    };
    for (std::size_t at = 0; at < text.size();) {
        if (kAscii[byte_at(text, at)] != 0) {
            if (!run_.empty()) end_run();
            const std::size_t from = at;
            if (n_points == 0) source_begin = at;
            to = copy_ascii(text, at, to);
            n_points += at - from;
            if (at == text.size() || byte_at(text, at) >= 128) continue;
            end_word(at++);  // most words end at an ASCII character
            continue;
        }
        const std::size_t from = at;
        const Character character = byte_at(text, at) < 128
                                        ? Character{byte_at(text, at++), Kind::kOther}
                                        : look_up(decode(text, at));
        if (character.kind != Kind::kWord && n_points > 0) end_word(from);
        if (character.kind != Kind::kSpaceless && !run_.empty()) end_run();
        if (character.kind == Kind::kWord) {
            if (n_points == 0) source_begin = from;
            to = encode(character.lower, to);
            ++n_points;
        } else if (character.kind == Kind::kSpaceless) {
            run_.push_back({character.lower, {from, at}});
        }
    }
    if (n_points > 0) end_word(text.size());
    if (!run_.empty()) end_run();
}

template void Words::scan<false>(std::string_view text);
template void Words::scan<true>(std::string_view text);

Vector<std::int64_t> code_points_before(std::string_view text, const Vector<std::size_t>& places) {
    Vector<std::int64_t> counts;
    std::size_t at = 0;
    std::int64_t n_points = 0;
    for (const std::size_t place : places) {
        for (; at < std::min(place, text.size()); ++at) {
            n_points += (byte_at(text, at) & 0xC0U) != 0x80U;
        }
        counts.push_back(n_points);
    }
    return counts;
}

}  // namespace defrag
