/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Who waits for a semaphore, in the order in which they are met.
 *
 * One source for the kernel driver and for the library's device model back end. The device watches
 * a semaphore for one value and tells once that it is reached, so the watch stands at the lowest
 * value somebody waits for. Authority: Documentation/hardware/queues.rst, "Watches".
 *
 * What the caller does around it, all but the last under one lock:
 *
 * - to wait: npu_watch_add(), and if that says so, arm the watch; then read the semaphore again,
 *   as it may have grown before the watch was armed;
 * - when a watch has fired: read the semaphore, wake whomever npu_watch_take() hands out, then
 *   arm the watch for npu_watch_lowest(), if anybody is left. The event may be older than those
 *   who wait now, and there may be nobody to wake;
 * - when a wait ends by itself: npu_watch_remove(). The watch may stay armed, for nobody; that
 *   costs one event.
 *
 * A leftist heap: every operation takes time logarithmic in the number of waiters at most.
 */
#ifndef NPU_WATCH_H
#define NPU_WATCH_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stdbool.h>
#endif

/**
 * struct npu_watch_waiter - one of those who wait
 * @up: where it hangs in the heap
 * @left: none of those below it is met before it
 * @right: the same; this way it is never farther to the end than by @left
 * @rank: steps to the end by @right, this one included; 0: waits for nothing
 * @value: the semaphore's that it waits for
 *
 * Zeroed memory waits for nothing.
 */
struct npu_watch_waiter {
	struct npu_watch_waiter *up;
	struct npu_watch_waiter *left;
	struct npu_watch_waiter *right;
	__u32 rank;
	__u64 value;
};

/**
 * struct npu_watch - a semaphore's waiters
 * @lowest: top of the heap
 *
 * Zeroed memory has none.
 */
struct npu_watch {
	struct npu_watch_waiter *lowest;
};

/**
 * npu_watch_add() - somebody begins to wait
 * @watch: the semaphore
 * @waiter: who; waits for nothing
 * @value: the semaphore's that is waited for
 *
 * Return: whether the watch is to be armed, as nobody else waits for as low a value.
 */
bool npu_watch_add(struct npu_watch *watch, struct npu_watch_waiter *waiter, __u64 value);

/**
 * npu_watch_remove() - somebody ends to wait
 * @watch: the semaphore
 * @waiter: who; may have been taken out before
 */
void npu_watch_remove(struct npu_watch *watch, struct npu_watch_waiter *waiter);

/**
 * npu_watch_take() - take out one who is met
 * @watch: the semaphore
 * @value: the semaphore's now
 *
 * Return: who waits for the lowest value, and for @value at most; NULL when nobody does.
 */
struct npu_watch_waiter *npu_watch_take(struct npu_watch *watch, __u64 value);

/**
 * npu_watch_lowest() - for whom the watch is to be armed
 * @watch: the semaphore
 *
 * Return: who waits for the lowest value, NULL when nobody waits.
 */
static inline const struct npu_watch_waiter *npu_watch_lowest(const struct npu_watch *watch)
{
	return watch->lowest;
}

#endif /* NPU_WATCH_H */
