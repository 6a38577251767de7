// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace defrag {

/// Thrown when a text violates its format; holds the line number, counted from 1.
struct ParseError : std::runtime_error {
    ParseError(std::int64_t line_number, const std::string& what)
        : std::runtime_error(what), line(line_number) {}
    std::int64_t line;
};

}  // namespace defrag
