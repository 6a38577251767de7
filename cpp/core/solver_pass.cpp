// SPDX-License-Identifier: BSD-3-Clause
#include "core/solver_pass.hpp"

#include <array>
#include <cstring>

#include "core/x86.hpp"
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

namespace {

/// What one kernel was compiled to, in the order of `Instructions` from kBaseline on.
template <class Kernel>
using Versions = std::array<Kernel, 3>;

template <class Kernel>
Kernel select(const Versions<Kernel>& versions, Instructions instructions) {
    return versions[static_cast<std::size_t>(resolve(instructions)) -
                    static_cast<std::size_t>(Instructions::kBaseline)];
}

#if DEFRAG_X86
#define DEFRAG_VERSIONS(...) {baseline::__VA_ARGS__, avx2::__VA_ARGS__, avx512::__VA_ARGS__}
#else
#define DEFRAG_VERSIONS(...) {baseline::__VA_ARGS__}  // `resolve` gives nothing else
#endif

constexpr Versions<RunPass> kHingePass = DEFRAG_VERSIONS(run_pass<false, false>);
constexpr Versions<RunPass> kLogisticPass = DEFRAG_VERSIONS(run_pass<true, false>);
constexpr Versions<RunPass> kSparsePass = DEFRAG_VERSIONS(run_pass<false, true>);
constexpr Versions<FindRows> kFindRows = DEFRAG_VERSIONS(find_rows);
constexpr Versions<ScorePanels> kScorePanels = DEFRAG_VERSIONS(score_panels);
constexpr Versions<FindLarge> kFindLarge = DEFRAG_VERSIONS(find_large);

}  // namespace

RunPass select_pass(Loss loss, Instructions instructions) {
    return select(loss == Loss::kLogistic ? kLogisticPass : kHingePass, instructions);
}

RunPass select_sparse_pass(Instructions instructions) { return select(kSparsePass, instructions); }

FindRows select_find_rows(Instructions instructions) { return select(kFindRows, instructions); }

ScorePanels select_score_panels(Instructions instructions) {
    return select(kScorePanels, instructions);
}

FindLarge select_find_large(Instructions instructions) { return select(kFindLarge, instructions); }

}  // namespace defrag
