// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>

#if !defined(__cpp_lib_to_chars)
#include <cstdlib>
#if defined(__APPLE__)
#include <xlocale.h>
#else
#include <clocale>
#endif
#endif

namespace defrag {

/// Replaces an index of more than 18 digits; larger than any index of a matrix.
constexpr std::int64_t kHugeIndex = std::numeric_limits<std::int64_t>::max();

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

/// Parses the digits at `here`, if any, into `index`; returns the first byte that is not a digit.
/// The caller guarantees that there is one.
inline const char* parse_index(const char* here, std::int64_t& index) {
    const char* begin = here;
    std::uint64_t value = 0;
    for (; is_digit(*here); ++here) value = value * 10 + static_cast<std::uint64_t>(*here - '0');
    index = here - begin <= 18 ? static_cast<std::int64_t>(value) : kHugeIndex;
    return here;
}

#if defined(__cpp_lib_to_chars)

/// Returns the correctly rounded value of the unsigned decimal number [begin, end), like strtof but
/// independent of the locale; the result may be infinity or zero. `exponent` is the exponent
/// written in the number.
inline float parse_float_exactly(const char* begin, const char* end, std::int64_t exponent) {
    float value = 0.0F;
    if (std::from_chars(begin, end, value).ec != std::errc::result_out_of_range) return value;
    // from_chars does not distinguish overflow from underflow; the position of the first digit
    // does.
    std::int64_t magnitude = exponent;
    bool before_point = true;
    bool leading = true;
    for (const char* here = begin; here != end && (is_digit(*here) || *here == '.'); ++here) {
        if (*here == '.') {
            before_point = false;
            continue;
        }
        leading = leading && *here == '0';
        if (before_point && !leading) ++magnitude;
        if (!before_point && leading) --magnitude;
    }
    return magnitude > 0 ? std::numeric_limits<float>::infinity() : 0.0F;
}

#else

/// Fallback for standard libraries without from_chars for floats (libc++ before LLVM 20).
inline float parse_float_exactly(const char* begin, const char* end, std::int64_t) {
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtof_l(std::string(begin, end).c_str(), nullptr, plain);
}

#endif

/// Parses the decimal number at `here` into `value`, rounded to the nearest float; returns the
/// first byte after it, or nullptr if there is no number. Overflow gives infinity. The text must
/// continue with a byte that cannot be part of a number. Locale-independent; rejects hexadecimal
/// and "inf".
inline const char* parse_float(const char* here, float& value) {
    static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = *here == '-';
    if (*here == '-' || *here == '+') ++here;
    const char* begin = here;
    std::uint64_t mantissa = 0;
    for (; is_digit(*here); ++here)
        mantissa = mantissa * 10 + static_cast<std::uint64_t>(*here - '0');
    std::int64_t n_digits = here - begin;
    std::int64_t shift = 0;
    if (*here == '.') {
        const char* point = here++;
        for (; is_digit(*here); ++here) {
            mantissa = mantissa * 10 + static_cast<std::uint64_t>(*here - '0');
        }
        shift = point + 1 - here;
        n_digits -= shift;
    }
    if (n_digits == 0) return nullptr;
    std::int64_t exponent = 0;
    if (*here == 'e' || *here == 'E') {
        const bool smaller = here[1] == '-';
        here += here[1] == '-' || here[1] == '+' ? 2 : 1;
        if (!is_digit(*here)) return nullptr;
        here = parse_index(here, exponent);
        if (exponent == kHugeIndex) exponent = kHugeIndex / 2;
        if (smaller) exponent = -exponent;
    }
    const std::int64_t power = exponent + shift;
    float result;
    std::uint64_t bits = 0;
    if (n_digits <= 19 && mantissa < (std::uint64_t{1} << 53) && power >= -22 && power <= 22) {
        // Both numbers are exact, so `wide` is the nearest double. It also rounds to the nearest
        // float unless it is the midpoint of two floats, where the digits that were rounded away
        // decide.
        const auto whole = static_cast<double>(mantissa);
        const double wide = power < 0 ? whole / kPowers[-power] : whole * kPowers[power];
        std::memcpy(&bits, &wide, sizeof bits);
        constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1;
        const bool middle = (bits & kBelowFloat) == (std::uint64_t{1} << 28);
        result = middle ? parse_float_exactly(begin, here, exponent) : static_cast<float>(wide);
    } else {
        result = parse_float_exactly(begin, here, exponent);
    }
    value = negative ? -result : result;
    return here;
}

}  // namespace defrag
