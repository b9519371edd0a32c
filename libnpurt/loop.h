/* SPDX-License-Identifier: MIT */
/*
 * Event loops: one thread that waits for tasks, descriptors, reads and times at once.
 *
 * loop.c has the requests, and looks after futures and times; what sleeps is a waiter: io_uring
 * (loop_uring.c), or poll() (loop_poll.c) where that is refused. A future is waited for by io_uring
 * itself where the device can; else by its context's descriptor.
 */
#ifndef NPURT_LOOP_H
#define NPURT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "npurt.h"

enum npurt_request_kind {
	NPURT_REQUEST_FUTURE,
	NPURT_REQUEST_FD,
	NPURT_REQUEST_READ,
	NPURT_REQUEST_TIMER,
};

/* A context whose descriptor is watched. */
struct npurt_loop_context {
	struct npurt_loop_context *next;
	struct npurt_context *context;
	int fd;
	uint32_t users; /* requests; with none the waiter may still have it, the context has gone */
	bool armed, leaving; /* the waiter's */
};

struct npurt_request {
	struct npurt_request *next;
	enum npurt_request_kind kind;
	npurt_loop_callback callback;
	void *data;
	bool done;
	bool with_waiter; /* which will say when it is done, and uses it until then */
	int result; /* once it is done */
	int64_t deadline_ns; /* of a future or a timer */
	struct npurt_future *future;
	struct npurt_loop_context *watched; /* of a future that has no other way */
	int fd;
	short events;
	void *to;
	size_t bytes;
	off_t offset;
};

/**
 * struct npurt_loop_ops - a waiter
 * @close:	no request is its any more
 * @add:	take on a request, or leave a future or a timer to the loop; 0 or a negative errno with a
 *		sentence
 * @wait:	sleep until something may have happened, or a deadline, and mark what is done
 * @cancel:	have a request done soon
 * @unwatch:	watch a context no more; NULL: nothing is to be done for it
 */
struct npurt_loop_ops {
	void (*close)(struct npurt_loop *loop);
	int (*add)(struct npurt_loop *loop, struct npurt_request *request);
	int (*wait)(struct npurt_loop *loop, int64_t deadline_ns);
	void (*cancel)(struct npurt_loop *loop, struct npurt_request *request);
	void (*unwatch)(struct npurt_loop *loop, struct npurt_loop_context *watched);
};

struct npurt_loop {
	const struct npurt_loop_ops *ops;
	enum npurt_loop_kind kind;
	int wake_fd;
	bool woken;
	bool closing; /* takes no more requests */
	struct npurt_request *first, **last; /* in the order of coming */
	struct npurt_loop_context *contexts;
	void *waiter; /* what is its own */
};

/** npurt_loop_finish() - a request is done */
static inline void npurt_loop_finish(struct npurt_request *request, int result)
{
	request->done = true;
	request->with_waiter = false;
	request->result = result;
}

/** npurt_loop_was_woken() - the wake-up descriptor is readable */
void npurt_loop_was_woken(struct npurt_loop *loop);

/** npurt_loop_poll_open() - a waiter by poll(); cannot fail */
int npurt_loop_poll_open(struct npurt_loop *loop);

/** npurt_loop_uring_open() - a waiter by io_uring: 0, or a negative errno with a sentence */
int npurt_loop_uring_open(struct npurt_loop *loop);

#endif /* NPURT_LOOP_H */
