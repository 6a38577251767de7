// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Whether the vector code of x86-64 is compiled. May be set to 0 from outside, to try the
// portable code on such a machine.
#if !defined(DEFRAG_X86)
#if defined(__x86_64__)
#define DEFRAG_X86 1
#else
#define DEFRAG_X86 0
#endif
#endif
