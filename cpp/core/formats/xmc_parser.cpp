// SPDX-License-Identifier: BSD-3-Clause
#include "core/formats/xmc_parser.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "core/formats/number_text.hpp"

namespace defrag {

namespace {

// Tokens and lines of a text. All of these functions require the text to end with a line feed.

bool is_blank(char c) { return c == ' ' || c == '\t'; }

const char* skip_blanks(const char* here) {
    while (is_blank(*here)) ++here;
    return here;
}

/// Returns whether the content of the line ends here, at its end or at a comment. Since the text
/// ends with a line feed, a carriage return always has a successor.
bool at_line_end(const char* here) {
    return *here == '\n' || *here == '#' || (*here == '\r' && here[1] == '\n');
}

bool at_token_end(const char* here) { return is_blank(*here) || at_line_end(here); }

const char* skip_line(const char* here, const char* end) {
    const void* found = std::memchr(here, '\n', static_cast<std::size_t>(end - here));
    return static_cast<const char*>(found) + 1;
}

/// Returns the text from `here` to the next blank or line end for an error message: in quotes, at
/// most 40 bytes, unprintable bytes as \xNN.
std::string quote(const char* here) {
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

bool is_non_finite_word(const char* here) {
    if (*here == '-' || *here == '+') ++here;
    std::string word;
    for (; word.size() < 9 && !at_token_end(here); ++here) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(*here)));
    }
    return word == "nan" || word == "inf" || word == "infinity";
}

constexpr std::int64_t kMaxColumns = std::numeric_limits<std::int32_t>::max();

/// Sorts the last row of a block and removes duplicate ids; returns the number removed.
std::int64_t join_repeated_labels(RowBlock& block, std::int64_t begin) {
    const auto first = block.indices.begin() + begin;
    std::sort(first, block.indices.end());
    const auto last = std::unique(first, block.indices.end());
    const std::int64_t n_joined = block.indices.end() - last;
    block.indices.erase(last, block.indices.end());
    return n_joined;
}

Csr join_blocks(Vector<RowBlock>& blocks, std::int64_t n_cols, bool with_data) {
    Csr result;
    result.n_cols = n_cols;
    std::int64_t n_rows = 0;
    std::int64_t n_entries = 0;
    for (const RowBlock& block : blocks) {
        n_rows += block.row_sizes.size();
        n_entries += block.indices.size();
    }
    result.indptr.reserve(n_rows + 1);
    result.indices.reserve(n_entries);
    if (with_data) {
        result.data.reserve(n_entries);
    } else {
        result.data.assign(n_entries, 1.0F);
    }
    for (RowBlock& block : blocks) {
        for (const std::int64_t size : block.row_sizes) {
            result.indptr.push_back(result.indptr.back() + size);
        }
        result.indices.insert(result.indices.end(), block.indices.begin(), block.indices.end());
        if (with_data) result.data.insert(result.data.end(), block.data.begin(), block.data.end());
        block = RowBlock();
    }
    return result;
}

}  // namespace

TextParser::TextParser(const ParseOptions& options) : options_(options) {
    feature_rule_ = {"feature", options.first_feature, options.n_features, false, -1};
    label_rule_ = {"label", options.first_label, options.n_labels, false, -1};
    has_header_ = options.layout == TextLayout::kSvmlight;
}

void TextParser::fail(const std::string& message) const { throw ParseError(line_, message); }

void TextParser::feed(std::string_view text) {
    if (text.empty()) return;
    const char* here = text.data();
    const char* end = here + text.size();
    if (!started_ && text.substr(0, 3) == "\xEF\xBB\xBF") here += 3;
    started_ = true;
    pairs_ = &pair_blocks_.emplace_back();
    labels_ = &label_blocks_.emplace_back();
    // An upper bound, apart from pairs without a value, which are rare.
    const auto n_pairs = static_cast<std::int64_t>(std::count(here, end, ':'));
    pairs_->indices.reserve(n_pairs);
    pairs_->data.reserve(n_pairs);
    while (here != end) {
        ++line_;
        if (*here == '#') {
            here = skip_line(here, end);
            continue;
        }
        here = has_header_ ? read_row(here) : read_header(here);
        here = skip_line(here, end);
    }
}

const char* TextParser::read_header(const char* here) {
    const bool combined = has(TextLayout::kCombined);
    const char* form = combined                     ? "'points features labels'"
                       : has(TextLayout::kFeatures) ? "'points features'"
                                                    : "'points labels'";
    std::int64_t numbers[3] = {};
    int n_numbers = 0;
    for (here = skip_blanks(here); !at_line_end(here); here = skip_blanks(here)) {
        const char* token = here;
        std::int64_t number = 0;
        here = parse_index(here, number);
        if (here == token || !at_token_end(here)) {
            fail(std::string("the header must be ") + form + ", whole numbers >= 0, got " +
                 quote(token));
        }
        if (number == kHugeIndex || (n_numbers > 0 && number > kMaxColumns)) {
            fail("the header declares " + quote(token) + ", more than a matrix can have");
        }
        if (n_numbers < 3) numbers[n_numbers] = number;
        ++n_numbers;
    }
    if (n_numbers != (combined ? 3 : 2)) {
        fail(std::string("the header must be ") + form + ", got " + std::to_string(n_numbers) +
             " numbers");
    }
    result_.declared_rows = numbers[0];
    const auto declare = [](IdRule& rule, std::int64_t limit) {
        if (rule.limit >= 0) return;
        rule.limit = limit;
        rule.declared = true;
    };
    declare(pair_rule(), numbers[1]);
    if (combined) declare(label_rule_, numbers[2]);
    has_header_ = true;
    return here;
}

const char* TextParser::read_row(const char* here) {
    const char* begin = here;
    const bool with_labels = has(TextLayout::kCombined) || has(TextLayout::kSvmlight);
    if (has(TextLayout::kSvmlight) && at_line_end(here)) {
        result_.skipped_lines.add(line_);
        return here;
    }
    const auto n_pairs = pairs_->indices.size();
    const auto n_labels = labels_->indices.size();
    pairs_sorted_ = labels_sorted_ = true;
    if (with_labels) here = read_label_list(here);
    here = read_pairs(here);
    if (!labels_sorted_) {
        const std::int64_t n_joined = join_repeated_labels(*labels_, n_labels);
        for (std::int64_t i = 0; i < n_joined; ++i) result_.repeated_labels.add(line_);
    }
    if (!pairs_sorted_) join_repeated_pairs(n_pairs);
    pairs_->row_sizes.push_back(pairs_->indices.size() - n_pairs);
    labels_->row_sizes.push_back(labels_->indices.size() - n_labels);
    ++n_rows_;
    n_blank_at_end_ = at_line_end(skip_blanks(begin)) ? n_blank_at_end_ + 1 : 0;
    return here;
}

/// Sorts the pairs of a row and adds up the values of equal features.
void TextParser::join_repeated_pairs(std::int64_t begin) {
    Vector<std::pair<std::int32_t, float>> row;
    for (std::int64_t i = begin; i < pairs_->indices.size(); ++i) {
        row.emplace_back(pairs_->indices[i], pairs_->data[i]);
    }
    std::stable_sort(row.begin(), row.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    pairs_->indices.resize(begin);
    pairs_->data.resize(begin);
    const bool binary = has(TextLayout::kLabels);
    Tally& tally = binary ? result_.repeated_labels : result_.repeated_features;
    for (std::int64_t i = 0; i < row.size();) {
        const std::int32_t id = row[i].first;
        double sum = row[i++].second;
        for (; i < row.size() && row[i].first == id; ++i) {
            if (has(TextLayout::kScores)) {
                fail("label " + std::to_string(id + label_rule_.first) + " has two scores");
            }
            tally.add(line_);
            sum += row[i].second;
        }
        const float value = binary ? 1.0F : static_cast<float>(sum);
        if (!std::isfinite(value)) {
            fail("the values of feature " + std::to_string(id + feature_rule_.first) +
                 " add up to more than a float can hold");
        }
        if (value != 0.0F || has(TextLayout::kScores)) pairs_->push(id, value);
    }
}

const char* TextParser::read_label_list(const char* here) {
    if (at_token_end(here)) return here;
    const char* token = here;
    std::int32_t previous = -1;
    while (true) {
        const char* label = here;
        std::int64_t index = 0;
        here = parse_index(here, index);
        if (*here == ':' && label == token) return token;  // not a label list, but a pair
        if (here == label || !(*here == ',' || at_token_end(here))) {
            fail("labels must be whole numbers >= 0 with commas between them, got " + quote(token));
        }
        const std::int32_t id = check_id(label_rule_, index, label);
        labels_sorted_ = labels_sorted_ && id > previous;
        previous = id;
        labels_->indices.push_back(id);
        if (*here != ',') return here;
        ++here;
    }
}

const char* TextParser::read_pairs(const char* here) {
    const bool binary = has(TextLayout::kLabels);
    const bool keep_zeros = has(TextLayout::kScores);
    IdRule& rule = pair_rule();
    std::int32_t previous = -1;
    while (true) {
        here = skip_blanks(here);
        if (at_line_end(here)) return here;
        const char* token = here;
        std::int64_t index = 0;
        here = parse_index(here, index);
        if (here == token || !(*here == ':' || at_token_end(here))) {
            fail(std::string("a ") + rule.noun + " index must be a whole number >= 0, got " +
                 quote(token));
        }
        const std::int32_t id = check_id(rule, index, token);
        float value = 1.0F;
        if (*here == ':') here = read_value(token, here + 1, index, value);
        if (binary) value = value > 0.0F ? 1.0F : 0.0F;
        if ((value == 0.0F && !keep_zeros) || std::isnan(value)) continue;
        pairs_sorted_ = pairs_sorted_ && id > previous;
        previous = id;
        pairs_->push(id, value);
    }
}

/// Parses the value of a pair; a value to be dropped becomes NaN.
const char* TextParser::read_value(const char* token, const char* here, std::int64_t index,
                                   float& value) {
    const char* end = parse_float(here, value);
    if (end != nullptr && at_token_end(end) && std::isfinite(value)) return end;
    const std::string name = std::string(pair_rule().noun) + ' ';
    if (at_token_end(here)) {
        fail(name + std::to_string(index) + " has a colon, but no value: " + quote(token));
    }
    const bool overflow = end != nullptr && at_token_end(end);
    if (!overflow && !is_non_finite_word(here)) {
        fail("the value of " + name + std::to_string(index) + " must be a number, got " +
             quote(here));
    }
    if (!options_.drop_non_finite) {
        fail("the value of " + name + std::to_string(index) + " must be a finite float, got " +
             quote(here));
    }
    result_.non_finite.add(line_);
    value = std::numeric_limits<float>::quiet_NaN();
    while (!at_token_end(here)) ++here;
    return here;
}

std::int32_t TextParser::check_id(IdRule& rule, std::int64_t index, const char* token) const {
    const std::int64_t id = index - rule.first;
    const std::int64_t limit = rule.limit >= 0 ? rule.limit : kMaxColumns;
    if (id >= 0 && id < limit) {
        rule.largest = std::max(rule.largest, id);
        return static_cast<std::int32_t>(id);
    }
    const std::string what = std::string(rule.noun) + " index ";
    if (index == kHugeIndex) fail(what + "of more than 18 digits: " + quote(token));
    std::string message = what + std::to_string(index);
    if (id < 0) fail(message + ", but the ids of this file are said to count from 1");
    if (rule.limit < 0) fail(message + ", but a matrix has at most 2147483647 columns");
    if (rule.declared) {
        message += ", but the header declares " + std::to_string(limit);
    } else {
        message += std::string(", but n_") + rule.noun + "s is " + std::to_string(limit);
    }
    if (id == limit && rule.first == 0) message += " (do the ids count from 1?)";
    fail(message);
}

ParsedText TextParser::take_rows() { return take(false); }

ParsedText TextParser::finish() {
    if (!has_header_ || !started_) {
        line_ = 0;
        fail(started_ ? "there is no header, only comments" : "the file is empty");
    }
    return take(true);
}

ParsedText TextParser::take(bool finished) {
    std::int64_t n_extra = result_.declared_rows < 0 ? 0 : n_rows_ - result_.declared_rows;
    n_extra = std::clamp<std::int64_t>(n_extra, 0, n_blank_at_end_);
    for (auto* blocks : {&pair_blocks_, &label_blocks_}) {
        std::int64_t n_left = n_extra;
        for (auto block = blocks->rbegin(); n_left > 0; ++block) {
            for (; n_left > 0 && !block->row_sizes.empty(); --n_left) block->row_sizes.pop_back();
        }
    }
    const auto width = [](const IdRule& rule) {
        return rule.limit >= 0 ? rule.limit : rule.largest + 1;
    };
    ParsedText taken = result_;
    if (has(TextLayout::kLabels)) {
        taken.labels = join_blocks(pair_blocks_, width(label_rule_), false);
    } else {
        taken.pairs = join_blocks(pair_blocks_, width(pair_rule()), true);
        if (has(TextLayout::kCombined) || has(TextLayout::kSvmlight)) {
            taken.labels = join_blocks(label_blocks_, width(label_rule_), false);
        }
    }
    for (auto* blocks : {&pair_blocks_, &label_blocks_}) {
        blocks->clear();
        if (!finished) blocks->emplace_back().row_sizes.assign(n_extra, 0);
    }
    return taken;
}

Vector<float> parse_values(std::string_view text) {
    const std::string copy = std::string(text) + '\n';
    Vector<float> values;
    for (const char* here = skip_blanks(copy.data()); !at_line_end(here);
         here = skip_blanks(here)) {
        float value = 0.0F;
        const char* end = parse_float(here, value);
        if (end == nullptr || !at_token_end(end) || !std::isfinite(value)) {
            throw ParseError(0, "expected a finite number, got " + quote(here));
        }
        values.push_back(value);
        here = end;
    }
    return values;
}

}  // namespace defrag
