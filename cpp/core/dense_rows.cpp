// SPDX-License-Identifier: BSD-3-Clause
#include "core/dense_rows.hpp"

#include <array>
#include <stdexcept>

// May be set to 0 from outside, to try the portable code on a machine that has other.
#if !defined(DEFRAG_X86)
#if defined(__x86_64__)
#define DEFRAG_X86 1
#else
#define DEFRAG_X86 0
#endif
#endif

#define DEFRAG_INLINE static inline __attribute__((always_inline))

#define DEFRAG_KERNEL dense_baseline
#define DEFRAG_VECTOR_BYTES 16
#include "core/dense_kernel.hpp"
#undef DEFRAG_KERNEL
#undef DEFRAG_VECTOR_BYTES

#if DEFRAG_X86

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define DEFRAG_KERNEL dense_avx2
#define DEFRAG_VECTOR_BYTES 32
#include "core/dense_kernel.hpp"
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
#define DEFRAG_KERNEL dense_avx512
#define DEFRAG_VECTOR_BYTES 64
#include "core/dense_kernel.hpp"
#undef DEFRAG_KERNEL
#undef DEFRAG_VECTOR_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // DEFRAG_X86

namespace defrag {
namespace {

template <class Kernel>
Kernel select(const std::array<Kernel, 3>& versions, Instructions instructions) {
    if (!can_run(instructions)) {
        throw std::invalid_argument("this processor lacks the instructions that were asked for");
    }
    const bool best = instructions == Instructions::kBest;
    if (best ? can_run(Instructions::kAvx512) : instructions == Instructions::kAvx512) {
        return versions[2];
    }
    if (best ? can_run(Instructions::kAvx2) : instructions == Instructions::kAvx2) {
        return versions[1];
    }
    return versions[0];
}

#if DEFRAG_X86
#define DEFRAG_VERSIONS(name) {dense_baseline::name, dense_avx2::name, dense_avx512::name}
#else
#define DEFRAG_VERSIONS(name) {dense_baseline::name}  // the others cannot run
#endif

constexpr std::array<AddLines, 3> kAddLines = DEFRAG_VERSIONS(add_lines);
constexpr std::array<DotRows, 3> kDotRows = DEFRAG_VERSIONS(dot_rows);
constexpr std::array<ScorePanel, 3> kScorePanel = DEFRAG_VERSIONS(score_panel);

}  // namespace

AddLines select_add_lines(Instructions instructions) { return select(kAddLines, instructions); }
DotRows select_dot_rows(Instructions instructions) { return select(kDotRows, instructions); }
ScorePanel select_score_panel(Instructions instructions) {
    return select(kScorePanel, instructions);
}

}  // namespace defrag
