// SPDX-License-Identifier: BSD-3-Clause
#include "core/formats/xmc_writer.hpp"

#include <charconv>

namespace defrag {

namespace {

/// Longer than any id or float that to_chars writes.
constexpr std::size_t kLongestNumber = 24;

template <class Number>
void append_number(std::string& text, Number number) {
    char digits[kLongestNumber];
    const auto result = std::to_chars(digits, digits + kLongestNumber, number);
    text.append(digits, result.ptr);
}

void append_features(std::string& text, const CsrView& features, std::int64_t row,
                     std::int64_t first, bool blank_before_all) {
    for (std::int64_t i = features.begin(row); i < features.end(row); ++i) {
        if (blank_before_all || i > features.begin(row)) text += ' ';
        append_number(text, features.indices[i] + first);
        text += ':';
        append_number(text, features.data[i]);
    }
}

void append_labels(std::string& text, const CsrView& labels, std::int64_t row, std::int64_t first,
                   char between, const char* after) {
    for (std::int64_t i = labels.begin(row); i < labels.end(row); ++i) {
        if (i > labels.begin(row)) text += between;
        append_number(text, labels.indices[i] + first);
        text += after;
    }
}

}  // namespace

std::string format_rows(const CsrView& features, const CsrView& labels,
                        const FormatOptions& options, std::int64_t begin, std::int64_t end) {
    std::string text;
    for (std::int64_t row = begin; row < end; ++row) {
        const std::size_t before = text.size();
        if (options.layout == TextLayout::kLabels) {
            append_labels(text, labels, row, options.first_label, ' ', ":1");
        } else if (options.layout == TextLayout::kFeatures) {
            append_features(text, features, row, options.first_feature, false);
        } else {
            append_labels(text, labels, row, options.first_label, ',', "");
            append_features(text, features, row, options.first_feature, true);
            if (text.size() == before) text += ' ';
        }
        text += '\n';
    }
    return text;
}

}  // namespace defrag
