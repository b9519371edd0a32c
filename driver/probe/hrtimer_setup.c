// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hrtimer.h>

void npu_probe(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *));
void npu_probe(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
