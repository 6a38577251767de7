// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/gather_dot.hpp"

#include "core/base/instructions.hpp"

#if DEFRAG_X86
#include <immintrin.h>
#endif

namespace defrag {
namespace {

constexpr std::int64_t kSums = 16;

float add_up(float* sums) {
    for (std::int64_t half = kSums / 2; half > 0; half /= 2) {
        for (std::int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
}

#if DEFRAG_X86
__attribute__((target("avx512f"))) float gather_dot_avx512(const std::int32_t* indices,
                                                           const float* values, std::int64_t size,
                                                           const float* dense) {
    __m512 sum = _mm512_setzero_ps();
    std::int64_t i = 0;
    for (; i + kSums <= size; i += kSums) {
        const __m512i index = _mm512_loadu_si512(indices + i);
        // The masked intrinsic with a full mask, because gcc warns that the plain one is
        // uninitialised.
        const __m512 gathered =
            _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xFFFF, index, dense, 4);
        sum = _mm512_add_ps(sum, _mm512_mul_ps(_mm512_loadu_ps(values + i), gathered));
    }
    if (i < size) {
        const auto rest = static_cast<__mmask16>((1U << (size - i)) - 1U);
        const __m512i index = _mm512_maskz_loadu_epi32(rest, indices + i);
        const __m512 gathered =
            _mm512_mask_i32gather_ps(_mm512_setzero_ps(), rest, index, dense, 4);
        const __m512 value = _mm512_maskz_loadu_ps(rest, values + i);
        sum = _mm512_mask_add_ps(sum, rest, sum, _mm512_mul_ps(value, gathered));
    }
    alignas(64) float sums[kSums];
    _mm512_store_ps(sums, sum);
    return add_up(sums);
}
#endif

}  // namespace

float gather_dot_portable(const std::int32_t* indices, const float* values, std::int64_t size,
                          const float* dense) {
    float sums[kSums] = {};
    std::int64_t i = 0;
    for (; i + kSums <= size; i += kSums) {
        for (std::int64_t k = 0; k < kSums; ++k) {
            sums[k] += values[i + k] * dense[indices[i + k]];
        }
    }
    for (std::int64_t k = 0; i + k < size; ++k) sums[k] += values[i + k] * dense[indices[i + k]];
    return add_up(sums);
}

GatherDot select_gather_dot() {
#if DEFRAG_X86
    if (can_run(Instructions::kAvx512)) return gather_dot_avx512;
#endif
    return gather_dot_portable;
}

}  // namespace defrag
