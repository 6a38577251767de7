// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace defrag {

/// A rule of a text format that a file broke, and the line (counted from 1) where it did.
struct ParseError : std::runtime_error {
    ParseError(std::int64_t line_number, const std::string& what)
        : std::runtime_error(what), line(line_number) {}
    std::int64_t line;
};

}  // namespace defrag
