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
