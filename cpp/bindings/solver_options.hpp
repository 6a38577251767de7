// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>

#include "core/losses.hpp"
#include "core/solver_pass.hpp"

namespace defrag {

inline Loss parse_loss(const std::string& name) {
    if (name == "squared_hinge") return Loss::kSquaredHinge;
    if (name == "logistic") return Loss::kLogistic;
    throw std::invalid_argument("loss must be 'squared_hinge' or 'logistic', got '" + name + "'");
}

inline Instructions parse_instructions(const std::string& name) {
    if (name == "best") return Instructions::kBest;
    if (name == "baseline") return Instructions::kBaseline;
    if (name == "avx2") return Instructions::kAvx2;
    if (name == "avx512") return Instructions::kAvx512;
    throw std::invalid_argument(
        "instructions must be 'best', 'baseline', 'avx2' or 'avx512', got '" + name + "'");
}

}  // namespace defrag
