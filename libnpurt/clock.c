// SPDX-License-Identifier: MIT
#include "clock.h"

int64_t npurt_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NPURT_NS_PER_SECOND + now.tv_nsec;
}

int64_t npurt_deadline(int64_t timeout_ns)
{
	int64_t now = npurt_now();

	if (timeout_ns < 0 || timeout_ns > INT64_MAX - 1 - now)
		return INT64_MAX;
	return now + timeout_ns;
}
