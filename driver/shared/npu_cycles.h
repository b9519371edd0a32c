/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Times of the device in the units of others. One source for the kernel driver and its tests.
 */
#ifndef NPU_CYCLES_H
#define NPU_CYCLES_H

#include <linux/types.h>

#ifdef __KERNEL__
#include <linux/math64.h>
#else
/* The kernel's, of <linux/math64.h>. */
static inline __u64 div_u64_rem(__u64 dividend, __u32 divisor, __u32 *remainder)
{
	*remainder = (__u32)(dividend % divisor);
	return dividend / divisor;
}

static inline __u64 div_u64(__u64 dividend, __u32 divisor)
{
	return dividend / divisor;
}
#endif

/**
 * npu_cycles_to_ns() - nanoseconds that cycles take
 * @cycles: as the device says, which may be anything
 * @hz: of its clock; the same
 *
 * Seconds and the rest apart: the product of all has more than 64 bits, and so can the quotient,
 * which a processor's own division of 128 bits by 64 answers with an exception.
 *
 * Return: nanoseconds, modulo 2^64; 0 of a clock that stands.
 */
static inline __u64 npu_cycles_to_ns(__u64 cycles, __u32 hz)
{
	const __u32 second = 1000000000;
	__u64 seconds;
	__u32 rest;

	if (!hz)
		return 0;
	seconds = div_u64_rem(cycles, hz, &rest);
	return seconds * second + div_u64((__u64)rest * second, hz);
}

#endif /* NPU_CYCLES_H */
