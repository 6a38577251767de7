// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/blocks.hpp"
#include "core/base/csr.hpp"

namespace defrag {

/// Thrown when a text violates its format; holds the line number, counted from 1.
struct ParseError : std::runtime_error {
    ParseError(std::int64_t line_number, const std::string& what)
        : std::runtime_error(what), line(line_number) {}
    std::int64_t line;
};

// The text formats of extreme classification, as accepted by this parser.
//
// Four layouts share one grammar. The first line of three of them is a header of integers: points,
// then features, then labels.
//
//   combined             features          labels            svmlight
//   3 5 4                3 5               3 4               (no header)
//   0,2 1:0.5 4:1e-3     1:0.5 4:1e-3      0:1 2:1           0,2 1:0.5 4:1e-3
//    0:2                 0:2                                  0:2
//   3                                      3:1               3
//
// Every line after the header is a point. Its parts are separated by any number of spaces or tabs,
// which may also end the line. Lines end with LF or CR LF, optional for the last line. A byte order
// mark at the beginning of the file is skipped.
//
//   labels   In combined and svmlight, label ids separated by single commas, beginning in the
//            first column. A line that begins with a space has no labels; neither has one whose
//            first part is `id:value`, because some exporters omit the space.
//   pairs    `id:value`, or `id` alone, which means `id:1`. In a label file a value above zero
//            means that the point has the label, any other value that it does not.
//   ids      Digits only, counted from 0, or from 1 if the caller requests it; nothing is
//            guessed. They may come in any order. An id beyond the number declared by the
//            header (or by the caller, who overrides it) is an error: a matrix that grew would
//            not fit its model.
//   values   Decimal numbers with or without point and exponent. The result is the nearest
//            float. Values too small for a float become zero; values too large, nan and inf are
//            errors, or dropped and counted if the caller requests it. Zeros are not stored.
//   comments `#` and the rest of the line. A line that begins with `#` is not a point.
//
// The following are accepted, but counted so that the caller can warn: a feature twice in a line
// (the values are added in double precision, in the order of the file), a label twice in a line,
// and a number of lines that differs from the header. An empty line is a point with neither labels
// nor features, with two exceptions: at the end of the file, beyond the number of points declared
// by the header, it is ignored; and in svmlight, which declares no number of points and where other
// readers skip it, it is skipped and counted (there, such a point is written as a line with one
// space).
//
// Predictions are a fifth layout, `scores`: the header of a label file, and pairs of a label and
// its score. Zeros are stored, since they were predicted, and a label twice in a line is an error,
// since it is ambiguous.
//
// Anything else is a ParseError with the line number. Allocation never relies on the header: memory
// is proportional to the text that was read.

enum class TextLayout { kCombined = 0, kFeatures = 1, kLabels = 2, kSvmlight = 3, kScores = 4 };

struct ParseOptions {
    TextLayout layout = TextLayout::kCombined;
    std::int64_t n_features = -1;  // overrides the header unless -1
    std::int64_t n_labels = -1;
    std::int64_t first_feature = 0;  // first id: 0 or 1
    std::int64_t first_label = 0;
    bool drop_non_finite = false;  // leave out values that are not finite
};

/// The number of occurrences of an anomaly, and the line of the first.
struct Tally {
    std::int64_t count = 0;
    std::int64_t first_line = 0;

    void add(std::int64_t line) {
        if (count++ == 0) first_line = line;
    }
};

/// The contents of a text. `pairs` are the features or the scores; it has no rows in the label
/// layout. `labels` has no rows in the layouts of features and scores; its values are one.
struct ParsedText {
    std::int64_t declared_rows = -1;
    Csr pairs;
    Csr labels;
    Tally repeated_features;
    Tally repeated_labels;
    Tally non_finite;
    Tally skipped_lines;
};

/// A parser that is fed runs of whole lines and returns their rows all at once or block by block.
/// One pass, O(bytes). Memory: twice that of the rows returned together.
class TextParser {
 public:
    explicit TextParser(const ParseOptions& options);

    /// Parses the next lines. `text` must end with a line feed. After a ParseError the parser must
    /// not be used.
    void feed(std::string_view text);

    /// Returns the rows read since the last call, and the tallies of all rows so far. An empty line
    /// beyond the declared number of points is held back, because it is ignored unless a point
    /// follows. The header is unknown, and declared_rows is -1, until its line has been read.
    ParsedText take_rows();

    /// Returns the remaining rows after the last line. Throws ParseError if there is no header.
    ParsedText finish();

 private:
    /// The rules for one kind of id: its noun in messages, its first value and its limit.
    struct IdRule {
        const char* noun = "";
        std::int64_t first = 0;
        std::int64_t limit = -1;
        bool declared = false;
        std::int64_t largest = -1;
    };

    ParsedText take(bool finished);
    const char* read_header(const char* here);
    const char* read_row(const char* here);
    const char* read_label_list(const char* here);
    const char* read_pairs(const char* here);
    const char* read_value(const char* token, const char* here, std::int64_t index, float& value);
    void join_repeated_pairs(std::int64_t begin);
    bool has(TextLayout layout) const { return options_.layout == layout; }
    IdRule& pair_rule() {
        return has(TextLayout::kLabels) || has(TextLayout::kScores) ? label_rule_ : feature_rule_;
    }
    std::int32_t check_id(IdRule& rule, std::int64_t index, const char* token) const;
    [[noreturn]] void fail(const std::string& message) const;

    ParseOptions options_;
    ParsedText result_;
    IdRule feature_rule_;
    IdRule label_rule_;
    Vector<RowBlock> pair_blocks_;
    Vector<RowBlock> label_blocks_;
    RowBlock* pairs_ = nullptr;
    RowBlock* labels_ = nullptr;
    bool pairs_sorted_ = true;
    bool labels_sorted_ = true;
    bool started_ = false;
    bool has_header_ = false;
    std::int64_t line_ = 0;
    std::int64_t n_rows_ = 0;
    std::int64_t n_blank_at_end_ = 0;
};

/// Parses decimal numbers separated by white space; throws ParseError (line 0) on anything else and
/// on numbers that are not finite floats.
Vector<float> parse_values(std::string_view text);

}  // namespace defrag
