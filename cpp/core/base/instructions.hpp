// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Whether the vector code for x86-64 is compiled. May be predefined as 0 to test the portable code
// on such a machine.
#if !defined(DEFRAG_X86)
#if defined(__x86_64__)
#define DEFRAG_X86 1
#else
#define DEFRAG_X86 0
#endif
#endif

namespace defrag {

/// The instruction set of the vector code. All versions give bit-identical results: lanes are
/// independent problems, no operation crosses them and nothing is contracted, so results do not
/// depend on the vector width. Tests force each version and compare.
enum class Instructions { kBest = 0, kBaseline = 1, kAvx2 = 2, kAvx512 = 3 };

/// Returns whether this processor supports a version.
bool can_run(Instructions instructions);

/// Returns the widest supported version for kBest, otherwise the argument. Throws
/// std::invalid_argument if this processor does not support it.
Instructions resolve(Instructions instructions);

}  // namespace defrag
