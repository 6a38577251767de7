// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/instructions.hpp"

#include <stdexcept>

namespace defrag {

bool can_run(Instructions instructions) {
    switch (instructions) {
#if DEFRAG_X86
        case Instructions::kAvx2:
            return __builtin_cpu_supports("avx2") != 0;
        case Instructions::kAvx512:
            return __builtin_cpu_supports("avx512f") != 0;
#else
        case Instructions::kAvx2:
        case Instructions::kAvx512:
            return false;
#endif
        default:
            return true;
    }
}

Instructions resolve(Instructions instructions) {
    if (!can_run(instructions)) {
        throw std::invalid_argument("this processor does not support the requested instructions");
    }
    if (instructions != Instructions::kBest) return instructions;
    if (can_run(Instructions::kAvx512)) return Instructions::kAvx512;
    return can_run(Instructions::kAvx2) ? Instructions::kAvx2 : Instructions::kBaseline;
}

}  // namespace defrag
