// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Who waits for a semaphore. See npu_watch.h. */
#include "npu_watch.h"

#ifdef __KERNEL__
#include <linux/stddef.h>
#else
#include <stddef.h>
#endif

static __u32 rank_of(const struct npu_watch_waiter *waiter)
{
	return waiter ? waiter->rank : 0;
}

/* Makes one right whose children are; tells whether its rank has changed. */
static bool settle(struct npu_watch_waiter *waiter)
{
	struct npu_watch_waiter *left = waiter->left;
	__u32 before = waiter->rank;

	if (rank_of(left) < rank_of(waiter->right)) {
		waiter->left = waiter->right;
		waiter->right = left;
	}
	waiter->rank = rank_of(waiter->right) + 1;
	return waiter->rank != before;
}

/* Two heaps become one, whose top hangs nowhere. */
static struct npu_watch_waiter *merge(struct npu_watch_waiter *a, struct npu_watch_waiter *b)
{
	struct npu_watch_waiter *last = NULL, *next;

	/* Down to the right in both, which is short, always on with the lower one. */
	while (a && b) {
		if (b->value < a->value) {
			next = a;
			a = b;
			b = next;
		}
		a->up = last;
		if (last)
			last->right = a;
		last = a;
		a = a->right;
	}
	if (!a)
		a = b;
	if (a)
		a->up = last;
	if (!last)
		return a;
	last->right = a;
	settle(last);
	while (last->up) {
		last = last->up;
		settle(last);
	}
	return last;
}

bool npu_watch_add(struct npu_watch *watch, struct npu_watch_waiter *waiter, __u64 value)
{
	bool lowest = !watch->lowest || value < watch->lowest->value;

	waiter->left = NULL;
	waiter->right = NULL;
	waiter->rank = 1;
	waiter->value = value;
	watch->lowest = merge(watch->lowest, waiter);
	return lowest;
}

void npu_watch_remove(struct npu_watch *watch, struct npu_watch_waiter *waiter)
{
	struct npu_watch_waiter *up = waiter->up, *below;

	if (!waiter->rank)
		return;
	waiter->rank = 0;
	below = merge(waiter->left, waiter->right);
	if (below)
		below->up = up;
	if (!up)
		watch->lowest = below;
	else if (up->left == waiter)
		up->left = below;
	else
		up->right = below;
	while (up && settle(up))
		up = up->up;
}

struct npu_watch_waiter *npu_watch_take(struct npu_watch *watch, __u64 value)
{
	struct npu_watch_waiter *lowest = watch->lowest;

	if (!lowest || lowest->value > value)
		return NULL;
	npu_watch_remove(watch, lowest);
	return lowest;
}
