/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __NPU_WAIT_H__
#define __NPU_WAIT_H__

#include "npu_context.h"

/* Those who wait look by themselves that often: an interrupt may be lost, or the device gone. */
#define NPU_BACKSTOP_NS		NSEC_PER_SEC

struct npu_wait;

/**
 * enum npu_wait_kind - how somebody waits
 * @NPU_WAIT_SLEEP: in the call itself
 * @NPU_WAIT_URING: by a command of io_uring's
 * @NPU_WAIT_SYNCOBJ: for a point of a syncobj
 */
enum npu_wait_kind {
	NPU_WAIT_SLEEP,
	NPU_WAIT_URING,
	NPU_WAIT_SYNCOBJ,
};

/**
 * struct npu_waiter - a semaphore somebody waits for
 * @node: in the semaphore's watch, and the value that is waited for; under wait_lock, but for the
 *	  value, which does not change
 * @wait: what it is part of
 * @sem: index of the semaphore
 */
struct npu_waiter {
	struct npu_watch_waiter node;
	struct npu_wait *wait;
	u32 sem;
};

/**
 * struct npu_wait - somebody who waits
 * @link: in the context's list; empty when nobody looks after it
 * @wake: something has happened, under wait_lock. Its result is zero when a semaphore has reached
 *	  its value, otherwise the errno for those that have not; it may be called more than once,
 *	  and nothing is unlinked by it
 * @since: when it was linked, in jiffies
 * @woken: it has been called
 * @late: it should have been, when the backstop looked
 * @all: until all are met
 * @count: number of waiters
 * @waiters: what for
 */
struct npu_wait {
	struct list_head link;
	void (*wake)(struct npu_wait *wait, int result);
	unsigned long since;
	bool woken;
	bool late;
	bool all;
	u32 count;
	struct npu_waiter waiters[] __counted_by(count);
};

static inline void npu_wait_wake(struct npu_wait *wait, int result)
{
	WRITE_ONCE(wait->woken, true);
	wait->wake(wait, result);
}

/* npu_semaphore.c */
void npu_wait_init(struct npu_wait *wait, u32 count, void (*wake)(struct npu_wait *, int));
void npu_wait_link(struct npu_context *ctx, struct npu_wait *wait);
void npu_wait_unlink(struct npu_context *ctx, struct npu_wait *wait);
int npu_wait_outcome(struct npu_context *ctx, const struct npu_wait *wait);

/* npu_backstop.c */
void npu_backstop_init(struct npu_device *ndev);
void npu_backstop_look(struct npu_device *ndev, unsigned long since);
void npu_backstop_start(struct npu_device *ndev);
void npu_backstop_end(struct npu_device *ndev);

#endif /* __NPU_WAIT_H__ */
