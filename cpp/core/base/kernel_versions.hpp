// SPDX-License-Identifier: BSD-3-Clause
// Compiles the file DEFRAG_KERNEL_FILE once per instruction set, each time with DEFRAG_KERNEL (the
// namespace) and DEFRAG_VECTOR_BYTES defined, in a region where the compiler may use those
// instructions. GCC lowers vectors wider than the target supports before inlining, so kernels are
// included as text instead of being templates. To be included by one source file per kernel file.
#pragma once

#include <array>
#include <cstddef>

#include "core/base/instructions.hpp"
#if DEFRAG_X86
#include <immintrin.h>
#endif

#define DEFRAG_INLINE static inline __attribute__((always_inline))

#define DEFRAG_KERNEL baseline
#define DEFRAG_VECTOR_BYTES 16
#include DEFRAG_KERNEL_FILE
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
#include DEFRAG_KERNEL_FILE
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
#include DEFRAG_KERNEL_FILE
#undef DEFRAG_KERNEL
#undef DEFRAG_VECTOR_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // DEFRAG_X86

/// The versions of a kernel, in the order of `Instructions` from kBaseline on.
#if DEFRAG_X86
#define DEFRAG_VERSIONS(...) {baseline::__VA_ARGS__, avx2::__VA_ARGS__, avx512::__VA_ARGS__}
#else
#define DEFRAG_VERSIONS(...) {baseline::__VA_ARGS__}  // the only result of `resolve`
#endif

namespace defrag {

template <class Kernel>
using Versions = std::array<Kernel, 3>;

template <class Kernel>
Kernel select(const Versions<Kernel>& versions, Instructions instructions) {
    return versions[static_cast<std::size_t>(resolve(instructions)) -
                    static_cast<std::size_t>(Instructions::kBaseline)];
}

}  // namespace defrag
