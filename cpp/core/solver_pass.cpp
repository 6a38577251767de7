// SPDX-License-Identifier: BSD-3-Clause
#include "core/solver_pass.hpp"

#include <cstring>
#include <stdexcept>

// May be set to 0 from outside, to try the portable code on a machine that needs it not.
#if !defined(DEFRAG_X86)
#if defined(__x86_64__)
#define DEFRAG_X86 1
#else
#define DEFRAG_X86 0
#endif
#endif
#if DEFRAG_X86
#include <immintrin.h>
#endif

#define DEFRAG_INLINE static inline __attribute__((always_inline))

#define DEFRAG_KERNEL baseline
#define DEFRAG_VECTOR_BYTES 16
#include "core/solver_kernel.hpp"
#undef DEFRAG_KERNEL
#undef DEFRAG_VECTOR_BYTES

#if DEFRAG_X86

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define DEFRAG_KERNEL avx2
#define DEFRAG_VECTOR_BYTES 32
#include "core/solver_kernel.hpp"
#undef DEFRAG_KERNEL
#undef DEFRAG_VECTOR_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
#define DEFRAG_KERNEL avx512
#define DEFRAG_VECTOR_BYTES 64
#include "core/solver_kernel.hpp"
#undef DEFRAG_KERNEL
#undef DEFRAG_VECTOR_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // DEFRAG_X86

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

namespace {

/// The version that stands behind a request.
Instructions resolve(Instructions instructions) {
    if (!can_run(instructions)) {
        throw std::invalid_argument("this processor lacks the instructions that were asked for");
    }
    if (instructions != Instructions::kBest) return instructions;
    if (can_run(Instructions::kAvx512)) return Instructions::kAvx512;
    return can_run(Instructions::kAvx2) ? Instructions::kAvx2 : Instructions::kBaseline;
}

}  // namespace

RunPass select_pass(Loss loss, Instructions instructions) {
    const bool logistic = loss == Loss::kLogistic;
    switch (resolve(instructions)) {
#if DEFRAG_X86
        case Instructions::kAvx512:
            return logistic ? avx512::run_pass<true, false> : avx512::run_pass<false, false>;
        case Instructions::kAvx2:
            return logistic ? avx2::run_pass<true, false> : avx2::run_pass<false, false>;
#endif
        default:
            return logistic ? baseline::run_pass<true, false> : baseline::run_pass<false, false>;
    }
}

RunPass select_sparse_pass(Instructions instructions) {
    switch (resolve(instructions)) {
#if DEFRAG_X86
        case Instructions::kAvx512:
            return avx512::run_pass<false, true>;
        case Instructions::kAvx2:
            return avx2::run_pass<false, true>;
#endif
        default:
            return baseline::run_pass<false, true>;
    }
}

FindRows select_find_rows(Instructions instructions) {
    switch (resolve(instructions)) {
#if DEFRAG_X86
        case Instructions::kAvx512:
            return avx512::find_rows;
        case Instructions::kAvx2:
            return avx2::find_rows;
#endif
        default:
            return baseline::find_rows;
    }
}

ScorePanels select_score_panels(Instructions instructions) {
    switch (resolve(instructions)) {
#if DEFRAG_X86
        case Instructions::kAvx512:
            return avx512::score_panels;
        case Instructions::kAvx2:
            return avx2::score_panels;
#endif
        default:
            return baseline::score_panels;
    }
}

FindLarge select_find_large(Instructions instructions) {
    switch (resolve(instructions)) {
#if DEFRAG_X86
        case Instructions::kAvx512:
            return avx512::find_large;
        case Instructions::kAvx2:
            return avx2::find_large;
#endif
        default:
            return baseline::find_large;
    }
}

}  // namespace defrag
