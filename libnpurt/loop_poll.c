// SPDX-License-Identifier: MIT
/* An event loop's waiter by poll(). Reads are made at once: those of files do not wait for long. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "loop.h"

static void close_waiter(struct npurt_loop *loop)
{
	(void)loop;
}

static int add(struct npurt_loop *loop, struct npurt_request *request)
{
	ssize_t n;

	(void)loop;
	if (request->kind != NPURT_REQUEST_READ)
		return 0;
	do {
		n = pread(request->fd, request->to, request->bytes, request->offset);
	} while (n < 0 && errno == EINTR);
	npurt_loop_finish(request, n < 0 ? -errno : (int)n);
	return 0;
}

static void cancel(struct npurt_loop *loop, struct npurt_request *request)
{
	(void)loop;
	npurt_loop_finish(request, -ECANCELED);
}

static nfds_t count_polls(const struct npurt_loop *loop)
{
	const struct npurt_loop_context *watched;
	const struct npurt_request *request;
	nfds_t count = 1;

	for (watched = loop->contexts; watched; watched = watched->next)
		count++;
	for (request = loop->first; request; request = request->next)
		count += request->kind == NPURT_REQUEST_FD;
	return count;
}

/* The wake-up, then contexts, then requests. */
static void fill_polls(const struct npurt_loop *loop, struct pollfd *polls)
{
	const struct npurt_loop_context *watched;
	const struct npurt_request *request;

	*polls++ = (struct pollfd){ .fd = loop->wake_fd, .events = POLLIN };
	for (watched = loop->contexts; watched; watched = watched->next)
		*polls++ = (struct pollfd){ .fd = watched->fd, .events = POLLIN };
	for (request = loop->first; request; request = request->next) {
		if (request->kind == NPURT_REQUEST_FD)
			*polls++ = (struct pollfd){ .fd = request->fd, .events = request->events };
	}
}

static void take_polls(struct npurt_loop *loop, const struct pollfd *polls)
{
	const struct npurt_loop_context *watched;
	struct npurt_request *request;

	if (polls++->revents)
		npurt_loop_was_woken(loop);
	for (watched = loop->contexts; watched; watched = watched->next) {
		if (polls++->revents)
			npurt_dispatch(watched->context);
	}
	for (request = loop->first; request; request = request->next) {
		if (request->kind == NPURT_REQUEST_FD && polls++->revents)
			npurt_loop_finish(
				request, polls[-1].revents & POLLNVAL ? -EBADF : polls[-1].revents);
	}
}

static int wait_some(struct npurt_loop *loop, int64_t deadline_ns)
{
	struct pollfd *polls = calloc(count_polls(loop), sizeof(*polls));
	int64_t now = npurt_now();
	const struct timespec left = npurt_timespec(deadline_ns > now ? deadline_ns - now : 0);
	int ret;

	if (!polls)
		return npurt_fail(-ENOMEM, "npurt: no memory for the descriptors of a loop");
	fill_polls(loop, polls);
	ret = ppoll(polls, count_polls(loop), deadline_ns == INT64_MAX ? NULL : &left, NULL);
	if (ret > 0)
		take_polls(loop, polls);
	else if (ret < 0 && errno != EINTR)
		ret = npurt_fail(-errno, "npurt: poll() for a loop: %s", strerror(errno));
	else
		ret = 0;
	free(polls);
	return ret < 0 ? ret : 0;
}

static const struct npurt_loop_ops poll_ops = {
	.close = close_waiter,
	.add = add,
	.wait = wait_some,
	.cancel = cancel,
};

int npurt_loop_poll_open(struct npurt_loop *loop)
{
	loop->ops = &poll_ops;
	loop->kind = NPURT_LOOP_POLL;
	return 0;
}
