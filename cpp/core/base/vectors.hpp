// SPDX-License-Identifier: BSD-3-Clause
// The vectors of an instruction set. Included by kernel files, once per instruction set, hence no
// include guard.

namespace defrag {
namespace DEFRAG_KERNEL {

// may_alias: other code accesses the same memory as plain float.
typedef float Floats __attribute__((vector_size(DEFRAG_VECTOR_BYTES), may_alias));
typedef std::int32_t Ints __attribute__((vector_size(DEFRAG_VECTOR_BYTES)));

constexpr int kWidth = DEFRAG_VECTOR_BYTES / 4;
constexpr int kParts = static_cast<int>(kLanes) / kWidth;

/// Returns one bit per lane of a mask whose lanes are all ones or all zeros.
#if DEFRAG_VECTOR_BYTES == 64
DEFRAG_INLINE unsigned bits_of(Ints mask) {
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
}
#elif DEFRAG_VECTOR_BYTES == 32
DEFRAG_INLINE unsigned bits_of(Ints mask) {
    return static_cast<unsigned>(_mm256_movemask_ps((__m256)mask));
}
#elif DEFRAG_X86
DEFRAG_INLINE unsigned bits_of(Ints mask) {
    return static_cast<unsigned>(_mm_movemask_ps((__m128)mask));
}
#else
DEFRAG_INLINE unsigned bits_of(Ints mask) {
    unsigned bits = 0;
    for (int i = 0; i < kWidth; ++i) bits |= static_cast<unsigned>(mask[i] & 1) << i;
    return bits;
}
#endif

DEFRAG_INLINE bool any(Ints mask) { return bits_of(mask) != 0; }

DEFRAG_INLINE Floats larger(Floats a, Floats b) { return a > b ? a : b; }
DEFRAG_INLINE Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
DEFRAG_INLINE Floats spread(float value) { return Floats{} + value; }

}  // namespace DEFRAG_KERNEL
}  // namespace defrag
