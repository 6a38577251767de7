// SPDX-License-Identifier: BSD-3-Clause
#include <doctest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "core/formats/number_text.hpp"
#include "core/formats/xmc_parser.hpp"
#include "core/formats/xmc_writer.hpp"

using namespace defrag;

namespace {

ParsedText parse(const std::string& text, TextLayout layout = TextLayout::kCombined) {
    ParseOptions options;
    options.layout = layout;
    TextParser parser(options);
    parser.feed(text);
    return parser.finish();
}

/// Parses a number as the parser does and as the C library does.
void check_like_strtof(const std::string& number) {
    CAPTURE(number);
    float found = -1.0F;
    const std::string text = number + '\n';
    REQUIRE(parse_float(text.c_str(), found) == text.c_str() + number.size());
    const float expected = std::strtof(number.c_str(), nullptr);
    CHECK(std::memcmp(&found, &expected, sizeof found) == 0);
}

}  // namespace

TEST_CASE("a combined text becomes two matrices") {
    const ParsedText parsed = parse("3 5 4\n2,0 4:1e-3 1:0.5\n 0:2\n3\n");
    CHECK(parsed.declared_rows == 3);
    CHECK(parsed.pairs.n_cols == 5);
    CHECK(parsed.labels.n_cols == 4);
    CHECK(parsed.pairs.indptr == Vector<std::int64_t>{0, 2, 3, 3});
    CHECK(parsed.pairs.indices == Vector<std::int32_t>{1, 4, 0});
    CHECK(parsed.pairs.data == Vector<float>{0.5F, 1e-3F, 2.0F});
    CHECK(parsed.labels.indptr == Vector<std::int64_t>{0, 2, 2, 3});
    CHECK(parsed.labels.indices == Vector<std::int32_t>{0, 2, 3});
}

TEST_CASE("the cuts between runs of lines do not matter") {
    const std::string lines[] = {"2 3 3\n", "# c\n", "1 0:1 0:2\n", "1,1\n"};
    TextParser parser(ParseOptions{});
    for (const std::string& line : lines) parser.feed(line);
    const ParsedText parsed = parser.finish();
    CHECK(parsed.pairs.data == Vector<float>{3.0F});
    CHECK(parsed.repeated_features.count == 1);
    CHECK(parsed.repeated_features.first_line == 3);
    CHECK(parsed.repeated_labels.first_line == 4);
}

TEST_CASE("rows are taken while text is fed; empty lines at the end are held back") {
    TextParser parser(ParseOptions{});
    parser.feed("# c\n");
    CHECK(parser.take_rows().declared_rows == -1);
    parser.feed("2 3 3\n1 0:1\n");
    const ParsedText first = parser.take_rows();
    CHECK(first.declared_rows == 2);
    CHECK(first.pairs.n_rows() == 1);
    CHECK(first.pairs.n_cols == 3);
    parser.feed("\n\n");
    CHECK(parser.take_rows().pairs.n_rows() == 1);
    parser.feed("2 1:1\n\n");
    const ParsedText last = parser.take_rows();
    CHECK(last.pairs.indptr == Vector<std::int64_t>{0, 0, 1});
    CHECK(last.labels.indices == Vector<std::int32_t>{2});
    CHECK(parser.finish().pairs.n_rows() == 0);
}

TEST_CASE("an error has the number of its line") {
    try {
        parse("2 3 3\n1 0:1\n1 7:1\n");
        FAIL("no error");
    } catch (const ParseError& error) {
        CHECK(error.line == 3);
        CHECK(std::string(error.what()) == "feature index 7, but the header declares 3");
    }
    CHECK_THROWS_WITH_AS(parse(""), "the file is empty", ParseError);
}

TEST_CASE("numbers have the bits that strtof gives them") {
    for (const char* number :
         {"0", "-0", "1", "0.1", "16777217", "16777217.00000000000001", "9007199254740993", "1e22",
          "1e23", "1e38", "3.4028236e38", "3.5e38", "1e-45", "7e-46", "1.1754943e-38", "1e-22",
          "123456789012345678901234567890", "0.000000000000000000000000000000000000000000001"}) {
        check_like_strtof(number);
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 200000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        float value;
        std::memcpy(&value, &bits, sizeof value);
        if (value - value != 0.0F) continue;  // not finite
        char text[64];
        const int digits = 1 + static_cast<int>(random() % 20);
        std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
        check_like_strtof(text);
        const auto whole = random() >> (random() % 64);
        std::snprintf(text, sizeof text, "%llu.%de%d", static_cast<unsigned long long>(whole),
                      static_cast<int>(random() % 1000), static_cast<int>(random() % 70) - 45);
        check_like_strtof(text);
    }
}

TEST_CASE("what is written is parsed to the same matrix") {
    Csr features;
    features.indptr = {0, 2, 2};
    features.indices = {0, 7};
    features.data = {0.1F, 1e-30F};
    features.n_cols = 8;
    Csr labels;
    labels.indptr = {0, 1, 1};
    labels.indices = {2};
    const std::string text = format_rows(features.view(), labels.view(), FormatOptions{}, 0, 2);
    CHECK(text == "2 0:0.1 7:1e-30\n \n");
    const ParsedText parsed = parse("2 8 3\n" + text);
    CHECK(parsed.pairs.data == features.data);
    CHECK(parsed.pairs.indptr == features.indptr);
    CHECK(parsed.labels.indices == labels.indices);
}
