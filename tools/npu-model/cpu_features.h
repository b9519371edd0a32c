/* SPDX-License-Identifier: MIT */
/* What the host's processor has, where compilers do not tell in one way. */
#ifndef NPU_MODEL_CPU_FEATURES_H
#define NPU_MODEL_CPU_FEATURES_H

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* cpu_has_f16c - conversions of half precision, usable (the system saves the AVX registers). */
static inline bool cpu_has_f16c(void)
{
	unsigned int eax, ebx, ecx, edx;

	/* clang 14 knows no "f16c" in __builtin_cpu_supports(); "avx" checks the system's part too. */
	return __builtin_cpu_supports("avx") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) &&
	       (ecx & bit_F16C);
}
#else
static inline bool cpu_has_f16c(void)
{
	return false;
}
#endif

#endif
