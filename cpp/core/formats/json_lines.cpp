// SPDX-License-Identifier: BSD-3-Clause
#include "core/formats/json_lines.hpp"

#include <algorithm>

#include "core/text/words.hpp"

namespace defrag {
namespace {

constexpr int kMostLevels = 16;
// Python refuses integers of several thousand digits.
constexpr std::size_t kMostDigits = 100;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t count_digits(std::string_view text) {
    const char* end = std::find_if_not(text.begin(), text.end(), is_digit);
    return static_cast<std::size_t>(end - text.begin());
}

}  // namespace

bool PlainLine::read(std::string_view line) {
    rest_ = line;
    labels_.clear();
    unescaped_.clear();
    has_text_ = has_labels_ = false;
    skip_blank();
    if (!take('{') || !read_members('}', [this] { return read_member(); })) return false;
    skip_blank();
    return rest_.empty() && has_text_ && has_labels_ == labels_key_.has_value();
}

template <class Member>
bool PlainLine::read_members(char close, Member member) {
    skip_blank();
    if (take(close)) return true;
    while (true) {
        skip_blank();
        if (!member()) return false;
        skip_blank();
        if (take(close)) return true;
        if (!take(',')) return false;
    }
}

bool PlainLine::read_member() {
    std::string_view key;
    if (!read_string(key)) return false;
    skip_blank();
    if (!take(':')) return false;
    skip_blank();
    if (key == text_key_) return !std::exchange(has_text_, true) && read_string(text_);
    if (key == labels_key_) return !std::exchange(has_labels_, true) && read_labels();
    return skip_value(0);
}

bool PlainLine::read_labels() {
    return take('[') && read_members(']', [this] {
               std::string_view label;
               if (!read_string(label) || label.empty()) return false;
               labels_.push_back(label);
               return true;
           });
}

bool PlainLine::read_string(std::string_view& out) {
    if (!take('"')) return false;
    const std::size_t size = rest_.find('"');
    if (size == std::string_view::npos) return false;
    out = rest_.substr(0, size);
    bool has_control = false;
    for (const char c : out) has_control |= static_cast<unsigned char>(c) < 0x20;
    if (has_control) return false;
    if (out.find('\\') == std::string_view::npos) {
        rest_.remove_prefix(size + 1);
        return true;
    }
    unescaped_.push_back(std::make_unique<std::string>());
    const bool valid = unescape(*unescaped_[unescaped_.size() - 1]);
    out = *unescaped_[unescaped_.size() - 1];
    return valid;
}

/// Reads the rest of a string with escapes, and its closing quote.
bool PlainLine::unescape(std::string& out) {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    while (!rest_.empty()) {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        if (c == '"') return true;
        if (static_cast<unsigned char>(c) < 0x20) return false;
        if (c != '\\') {
            out.push_back(c);
            continue;
        }
        if (take('u')) {
            std::uint32_t code = 0, low = 0;
            if (!read_code_unit(code)) return false;
            if (code >= 0xD800 && code < 0xE000) {  // a pair of surrogates, or half a character
                if (code >= 0xDC00 || !take("\\u") || !read_code_unit(low)) return false;
                if (low < 0xDC00 || low >= 0xE000) return false;
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
            char bytes[4];
            out.append(bytes, encode(code, bytes));
            continue;
        }
        const std::size_t place = rest_.empty() ? std::string_view::npos : kEscapes.find(rest_[0]);
        if (place == std::string_view::npos) return false;
        out.push_back(kMeanings[place]);
        rest_.remove_prefix(1);
    }
    return false;
}

bool PlainLine::read_code_unit(std::uint32_t& unit) {
    constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
    if (rest_.size() < 4) return false;
    for (int i = 0; i < 4; ++i) {
        const std::size_t digit = kDigits.find(rest_[static_cast<std::size_t>(i)]);
        if (digit == std::string_view::npos) return false;
        unit = unit << 4 | static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
    }
    rest_.remove_prefix(4);
    return true;
}

bool PlainLine::skip_value(int depth) {
    if (depth == kMostLevels || rest_.empty()) return false;
    std::string_view ignored;
    const auto skip_item = [this, depth] { return skip_value(depth + 1); };
    switch (rest_.front()) {
        case '"':
            return read_string(ignored);
        case '[':
            return take('[') && read_members(']', skip_item);
        case '{':
            return take('{') && read_members('}', [&] {
                       if (!read_string(ignored)) return false;
                       skip_blank();
                       if (!take(':')) return false;
                       skip_blank();
                       return skip_item();
                   });
        case 't':
            return take("true");
        case 'f':
            return take("false");
        case 'n':
            return take("null");
        default:
            return skip_number();
    }
}

bool PlainLine::skip_number() {
    take('-');
    const std::size_t n_digits = count_digits(rest_);
    if (n_digits == 0 || n_digits > kMostDigits || (n_digits > 1 && rest_[0] == '0')) return false;
    rest_.remove_prefix(n_digits);
    const auto skip_digits = [this] {
        const std::size_t n = count_digits(rest_);
        rest_.remove_prefix(n);
        return n > 0;
    };
    if (take('.') && !skip_digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return skip_digits();
}

void PlainLine::skip_blank() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')) {
        rest_.remove_prefix(1);
    }
}

bool PlainLine::take(char expected) {
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_.remove_prefix(1);
    return true;
}

bool PlainLine::take(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
}

}  // namespace defrag
