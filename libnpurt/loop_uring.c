// SPDX-License-Identifier: MIT
/*
 * An event loop's waiter by io_uring. A completion's user data is the request, or what is watched;
 * the lowest bit tells them apart.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "error.h"
#include "loop.h"
#include "objects.h"

#ifndef NPURT_LIBURING

int npurt_loop_uring_open(struct npurt_loop *loop)
{
	(void)loop;
	return npurt_fail(-EOPNOTSUPP,
			  "npurt: this library was built without liburing: make a loop of another "
			  "kind, or build it with liburing-dev");
}

#else

#include <liburing.h>
#include <poll.h>

#define ENTRIES 128
#define WATCHED ((uint64_t)1)

struct waiter {
	struct io_uring ring;
	bool wake_armed;
};

static struct io_uring *ring_of(struct npurt_loop *loop)
{
	return &((struct waiter *)loop->waiter)->ring;
}

static void close_waiter(struct npurt_loop *loop)
{
	io_uring_queue_exit(ring_of(loop));
	free(loop->waiter);
}

/* When the ring of submissions is full they are made. */
static struct io_uring_sqe *get_sqe(struct npurt_loop *loop)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring_of(loop));

	if (!sqe && io_uring_submit(ring_of(loop)) > 0)
		sqe = io_uring_get_sqe(ring_of(loop));
	if (!sqe)
		npurt_fail(-EBUSY, "npurt: io_uring takes no more of a loop's submissions");
	return sqe;
}

static void set_data(struct io_uring_sqe *sqe, const void *pointer, uint64_t tag)
{
	sqe->user_data = (uint64_t)(uintptr_t)pointer | tag;
}

/* Can the device complete a submission at its end? */
static bool has_command(const struct npurt_future *future)
{
	return future->on_queue && npurt_context_backend(future->context)->backend->ops->prepare_uring;
}

static int add_future(struct npurt_loop *loop, struct npurt_request *request)
{
	int64_t now = npurt_now(), timeout = NPURT_FOREVER;
	struct io_uring_sqe *sqe;
	int ret;

	if (request->deadline_ns != INT64_MAX)
		timeout = request->deadline_ns > now ? request->deadline_ns - now : 0;
	sqe = get_sqe(loop);
	if (!sqe)
		return -EBUSY;
	ret = npurt_future_prepare_uring(request->future, sqe, timeout);
	set_data(sqe, request, 0);
	if (!ret) {
		request->with_waiter = true;
		return 0;
	}
	/* Longer than the device can wait: by the descriptor. */
	io_uring_prep_nop(sqe);
	set_data(sqe, NULL, 0);
	return 0;
}

static int add(struct npurt_loop *loop, struct npurt_request *request)
{
	struct io_uring_sqe *sqe;

	if (request->kind == NPURT_REQUEST_TIMER)
		return 0;
	if (request->kind == NPURT_REQUEST_FUTURE)
		return has_command(request->future) ? add_future(loop, request) : 0;
	sqe = get_sqe(loop);
	if (!sqe)
		return -EBUSY;
	if (request->kind == NPURT_REQUEST_FD)
		io_uring_prep_poll_add(sqe, request->fd, (unsigned int)request->events);
	else
		io_uring_prep_read(sqe, request->fd, request->to, (unsigned int)request->bytes,
				   (uint64_t)request->offset);
	set_data(sqe, request, 0);
	request->with_waiter = true;
	return 0;
}

static void cancel(struct npurt_loop *loop, struct npurt_request *request)
{
	struct io_uring_sqe *sqe;

	/* A command uses nothing of the request's, and ends with the ring. */
	if (!request->with_waiter || request->kind == NPURT_REQUEST_FUTURE) {
		npurt_loop_finish(request, -ECANCELED);
		return;
	}
	sqe = get_sqe(loop);
	if (!sqe)
		return;
	io_uring_prep_cancel(sqe, request, 0);
	set_data(sqe, NULL, 0);
}

static int arm(struct npurt_loop *loop, int fd, const void *watched, bool *armed)
{
	struct io_uring_sqe *sqe;

	if (*armed)
		return 0;
	sqe = get_sqe(loop);
	if (!sqe)
		return -EBUSY;
	io_uring_prep_poll_add(sqe, fd, POLLIN);
	set_data(sqe, watched, WATCHED);
	*armed = true;
	return 0;
}

static int arm_all(struct npurt_loop *loop)
{
	struct npurt_loop_context *watched;
	struct waiter *waiter = loop->waiter;
	int ret;

	ret = arm(loop, loop->wake_fd, waiter, &waiter->wake_armed);
	for (watched = loop->contexts; watched && !ret; watched = watched->next) {
		if (watched->context)
			ret = arm(loop, watched->fd, watched, &watched->armed);
	}
	return ret;
}

static void take_watched(struct npurt_loop *loop, void *pointer)
{
	struct npurt_loop_context *watched = pointer;
	struct waiter *waiter = loop->waiter;

	if (pointer == waiter) {
		waiter->wake_armed = false;
		npurt_loop_was_woken(loop);
		return;
	}
	watched->armed = false;
	if (watched->context)
		npurt_dispatch(watched->context);
}

static void unwatch(struct npurt_loop *loop, struct npurt_loop_context *watched)
{
	struct io_uring_sqe *sqe = watched->armed && !watched->leaving ? get_sqe(loop) : NULL;

	if (!sqe)
		return;
	io_uring_prep_cancel64(sqe, (uint64_t)(uintptr_t)watched | WATCHED, 0);
	set_data(sqe, NULL, 0);
	watched->leaving = true;
}

static void take_future(struct npurt_loop *loop, struct npurt_request *request, int result)
{
	/* A queue that has stopped completes its tasks, too: they have failed. */
	if (npurt_future_is_over(request->future))
		result = 0;
	/* Its context was made again after a reset of the device: it is to be waited for in that. */
	else if (result == -EIO && !add_future(loop, request))
		return;
	npurt_loop_finish(request, result);
}

static void take(struct npurt_loop *loop, const struct io_uring_cqe *cqe)
{
	void *pointer = (void *)(uintptr_t)(cqe->user_data & ~WATCHED);
	struct npurt_request *request = pointer;

	if (!pointer)
		return;
	if (cqe->user_data & WATCHED)
		take_watched(loop, pointer);
	else if (request->done)
		return;
	else if (request->kind == NPURT_REQUEST_FUTURE)
		take_future(loop, request, cqe->res);
	else
		npurt_loop_finish(request, cqe->res);
}

static int wait_some(struct npurt_loop *loop, int64_t deadline_ns)
{
	int64_t now = npurt_now(), left = deadline_ns > now ? deadline_ns - now : 0;
	struct __kernel_timespec timeout = {
		.tv_sec = left / NPURT_NS_PER_SECOND,
		.tv_nsec = left % NPURT_NS_PER_SECOND,
	};
	struct io_uring_cqe *cqe;
	int ret;

	ret = arm_all(loop);
	if (ret)
		return ret;
	ret = io_uring_submit_and_wait_timeout(ring_of(loop), &cqe, 1,
					       deadline_ns == INT64_MAX ? NULL : &timeout, NULL);
	if (ret < 0 && ret != -ETIME && ret != -EINTR)
		return npurt_fail(ret, "npurt: io_uring for a loop: %s", strerror(-ret));
	while (!io_uring_peek_cqe(ring_of(loop), &cqe)) {
		const struct io_uring_cqe copy = { .user_data = cqe->user_data, .res = cqe->res };

		io_uring_cqe_seen(ring_of(loop), cqe);
		take(loop, &copy);
	}
	return 0;
}

static const struct npurt_loop_ops uring_ops = {
	.close = close_waiter,
	.add = add,
	.wait = wait_some,
	.cancel = cancel,
	.unwatch = unwatch,
};

int npurt_loop_uring_open(struct npurt_loop *loop)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));
	int ret;

	if (!waiter)
		return npurt_fail(-ENOMEM, "npurt: no memory for a loop");
	ret = io_uring_queue_init(ENTRIES, &waiter->ring, 0);
	if (ret) {
		free(waiter);
		return npurt_fail(ret,
				  "npurt: io_uring is refused: %s: a loop of kind 0 does without",
				  strerror(-ret));
	}
	loop->waiter = waiter;
	loop->ops = &uring_ops;
	loop->kind = NPURT_LOOP_URING;
	return 0;
}

#endif
