// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/arrays.hpp"

namespace defrag {

/// The text and the labels of a line of JSON, for example
///   {"id": 7, "text": "quick sort", "labels": ["sorting"]}
/// with the keys in any order, among others whose values are skipped. The strings are views of the
/// line, or of the object if they have escapes.
class PlainLine {
 public:
    /// Without `labels_key`, only the text is taken.
    PlainLine(std::string text_key, std::optional<std::string> labels_key)
        : text_key_(std::move(text_key)), labels_key_(std::move(labels_key)) {}

    /// Reads a line of valid UTF-8. Returns false unless it is certainly valid JSON of this form:
    /// if a key occurs twice, the text is no string, the labels are no list of non-empty strings,
    /// half a character is escaped, values are nested deeply or numbers are long, and for every
    /// error. Another reader then decides what the line means. What is accepted has the same
    /// strings in Python's json module. O(bytes).
    bool read(std::string_view line);

    std::string_view text() const { return text_; }
    const Vector<std::string_view>& labels() const { return labels_; }

 private:
    bool read_member();
    bool read_labels();
    bool read_string(std::string_view& out);
    bool unescape(std::string& out);
    bool read_code_unit(std::uint32_t& unit);
    bool skip_value(int depth);
    bool skip_number();
    void skip_blank();
    bool take(char expected);
    bool take(std::string_view word);

    /// Calls member() for what stands between the brackets, separated by commas.
    template <class Member>
    bool read_members(char close, Member member);

    std::string text_key_;
    std::optional<std::string> labels_key_;
    std::string_view rest_;
    std::string_view text_;
    Vector<std::string_view> labels_;
    bool has_text_ = false;
    bool has_labels_ = false;
    Vector<std::unique_ptr<std::string>> unescaped_;  // the strings with escapes, of this line
};

}  // namespace defrag
