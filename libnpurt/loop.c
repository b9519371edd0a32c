// SPDX-License-Identifier: MIT
/* Event loops: requests, their callbacks, and what is looked after without a waiter's help. */
#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "objects.h"
#include "workers.h"

/* ------------------------------------------------------------------ life time */

static int read_options(const struct npurt_loop_options *from, struct npurt_loop_options *options)
{
	int ret = npurt_take_sized(options, sizeof(*options), from, "loop options");

	if (ret)
		return ret;
	if (options->kind > NPURT_LOOP_POLL || options->reserved)
		return npurt_fail(-EINVAL,
				  "npurt: loop of kind %u: this library knows %d (io_uring), %d "
				  "(poll) and 0 (whatever is allowed); `reserved` is 0",
				  options->kind, NPURT_LOOP_URING, NPURT_LOOP_POLL);
	return 0;
}

static int open_waiter(struct npurt_loop *loop, uint32_t kind)
{
	int ret = kind == NPURT_LOOP_POLL ? -EOPNOTSUPP : npurt_loop_uring_open(loop);

	return ret && kind != NPURT_LOOP_URING ? npurt_loop_poll_open(loop) : ret;
}

int npurt_loop_create(const struct npurt_loop_options *from, struct npurt_loop **result)
{
	struct npurt_loop_options options;
	struct npurt_loop *loop;
	int ret;

	if (!result)
		return npurt_fail(-EINVAL, "npurt: npurt_loop_create() without a place (NULL)");
	ret = read_options(from, &options);
	if (ret)
		return ret;
	loop = calloc(1, sizeof(*loop));
	if (!loop)
		return npurt_fail(-ENOMEM, "npurt: no memory for a loop");
	loop->last = &loop->first;
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->wake_fd < 0)
		ret = npurt_fail(-errno, "npurt: no file descriptor for a loop: %s",
				 strerror(errno));
	else
		ret = open_waiter(loop, options.kind);
	if (!ret) {
		*result = loop;
		return 0;
	}
	if (loop->wake_fd >= 0)
		close(loop->wake_fd);
	free(loop);
	return ret;
}

int npurt_loop_get_kind(const struct npurt_loop *loop)
{
	if (!loop)
		return npurt_fail(-EINVAL, "npurt: npurt_loop_get_kind() without a loop (NULL)");
	return (int)loop->kind;
}

int npurt_loop_wake(struct npurt_loop *loop)
{
	const uint64_t one = 1;

	if (!loop)
		return npurt_fail(-EINVAL, "npurt: npurt_loop_wake() without a loop (NULL)");
	/* One that is full wakes as well. */
	if (write(loop->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		return npurt_fail(-errno, "npurt: npurt_loop_wake(): %s", strerror(errno));
	return 0;
}

void npurt_loop_was_woken(struct npurt_loop *loop)
{
	uint64_t count;

	if (read(loop->wake_fd, &count, sizeof(count)) == sizeof(count))
		loop->woken = true;
}

/* ------------------------------------------------------------- watched contexts */

/* Returns 0, or a negative errno with a sentence. */
static int watch(struct npurt_loop *loop, struct npurt_request *request)
{
	struct npurt_context *context = request->future->context;
	struct npurt_loop_context *watched = loop->contexts;
	int fd;

	while (watched && watched->context != context)
		watched = watched->next;
	if (!watched) {
		fd = npurt_context_get_fd(context);
		if (fd < 0)
			return fd;
		watched = calloc(1, sizeof(*watched));
		if (!watched)
			return npurt_fail(-ENOMEM, "npurt: no memory for a loop's context");
		watched->context = context;
		watched->fd = fd;
		npurt_count_up(&context->handles);
		watched->next = loop->contexts;
		loop->contexts = watched;
	}
	watched->users++;
	request->watched = watched;
	return 0;
}

/* Lets go of contexts that nobody asks for any more. */
static void let_go(struct npurt_loop *loop)
{
	struct npurt_loop_context *watched;

	for (watched = loop->contexts; watched; watched = watched->next) {
		if (watched->users || !watched->context)
			continue;
		if (loop->ops->unwatch)
			loop->ops->unwatch(loop, watched);
		npurt_context_put(watched->context);
		watched->context = NULL;
	}
}

/* Frees what has been let go of, unless the waiter has it. */
static void sweep(struct npurt_loop *loop, bool all)
{
	struct npurt_loop_context **link = &loop->contexts;

	while (*link) {
		struct npurt_loop_context *watched = *link;

		if (watched->context || (watched->armed && !all)) {
			link = &watched->next;
			continue;
		}
		*link = watched->next;
		free(watched);
	}
}

/* -------------------------------------------------------------------- requests */

static void free_request(struct npurt_request *request)
{
	if (request->future)
		npurt_future_put(request->future);
	if (request->watched)
		request->watched->users--;
	free(request);
}

static int check(const struct npurt_loop *loop, npurt_loop_callback callback, const char *call)
{
	if (!loop || !callback)
		return npurt_fail(-EINVAL, "npurt: %s() wants a loop and a callback, one is NULL",
				  call);
	return 0;
}

static int add(struct npurt_loop *loop, const struct npurt_request *from)
{
	struct npurt_request *request = malloc(sizeof(*request));
	int ret;

	if (loop->closing) {
		free(request);
		return npurt_fail(-ECANCELED, "npurt: the loop is being destroyed");
	}
	if (!request)
		return npurt_fail(-ENOMEM, "npurt: no memory for a loop's request");
	*request = *from;
	if (request->future)
		npurt_count_up(&request->future->references);
	ret = loop->ops->add(loop, request);
	if (!ret && request->future && !request->with_waiter)
		ret = watch(loop, request);
	if (ret) {
		free_request(request);
		return ret;
	}
	*loop->last = request;
	loop->last = &request->next;
	return 0;
}

int npurt_loop_add_future(struct npurt_loop *loop, struct npurt_future *future, int64_t timeout_ns,
			  npurt_loop_callback callback, void *data)
{
	const struct npurt_request request = {
		.kind = NPURT_REQUEST_FUTURE,
		.callback = callback,
		.data = data,
		.future = future,
		.deadline_ns = npurt_deadline(timeout_ns),
	};
	int ret = check(loop, callback, "npurt_loop_add_future");

	if (!ret && !future)
		ret = npurt_fail(-EINVAL, "npurt: npurt_loop_add_future() without a future (NULL)");
	if (!ret)
		ret = npurt_check_ours(future->context->device);
	return ret ? ret : add(loop, &request);
}

int npurt_loop_add_fd(struct npurt_loop *loop, int fd, short events, npurt_loop_callback callback,
		      void *data)
{
	const struct npurt_request request = {
		.kind = NPURT_REQUEST_FD,
		.callback = callback,
		.data = data,
		.fd = fd,
		.events = events,
		.deadline_ns = INT64_MAX,
	};
	int ret = check(loop, callback, "npurt_loop_add_fd");

	return ret ? ret : add(loop, &request);
}

int npurt_loop_add_read(struct npurt_loop *loop, int fd, void *to, size_t bytes, int64_t offset,
			npurt_loop_callback callback, void *data)
{
	const struct npurt_request request = {
		.kind = NPURT_REQUEST_READ,
		.callback = callback,
		.data = data,
		.fd = fd,
		.to = to,
		.bytes = bytes,
		.offset = (off_t)offset,
		.deadline_ns = INT64_MAX,
	};
	int ret = check(loop, callback, "npurt_loop_add_read");

	if (!ret && ((!to && bytes) || bytes > INT_MAX || offset < 0))
		ret = npurt_fail(-EINVAL,
				 "npurt: npurt_loop_add_read() of %zu bytes at %lld%s: at most %d "
				 "bytes at once, from an offset that is not negative, to memory",
				 bytes, (long long)offset, to ? "" : " to NULL", INT_MAX);
	/* Pipes and sockets are read by who has waited for their descriptor. */
	if (!ret && lseek(fd, 0, SEEK_CUR) < 0)
		ret = npurt_fail(-errno, "npurt: npurt_loop_add_read() of descriptor %d: %s", fd,
				 strerror(errno));
	return ret ? ret : add(loop, &request);
}

int npurt_loop_add_timer(struct npurt_loop *loop, int64_t timeout_ns, npurt_loop_callback callback,
			 void *data)
{
	const struct npurt_request request = {
		.kind = NPURT_REQUEST_TIMER,
		.callback = callback,
		.data = data,
		.deadline_ns = npurt_deadline(timeout_ns),
	};
	int ret = check(loop, callback, "npurt_loop_add_timer");

	return ret ? ret : add(loop, &request);
}

/* --------------------------------------------------------------------- running */

/* Futures and times that the waiter does not tell of. */
static void look(struct npurt_loop *loop)
{
	int64_t now = npurt_now();
	struct npurt_request *request;

	for (request = loop->first; request; request = request->next) {
		if (request->done || request->with_waiter)
			continue;
		if (request->future && npurt_future_is_over(request->future))
			npurt_loop_finish(request, 0);
		else if (request->deadline_ns <= now)
			npurt_loop_finish(request, request->future ? -ETIME : 0);
	}
}

static int64_t nearest(const struct npurt_loop *loop, int64_t deadline_ns)
{
	const struct npurt_request *request;

	for (request = loop->first; request; request = request->next) {
		if (!request->with_waiter && request->deadline_ns < deadline_ns)
			deadline_ns = request->deadline_ns;
	}
	return deadline_ns;
}

/* Takes the requests that are done out of the loop. */
static struct npurt_request *take_done(struct npurt_loop *loop)
{
	struct npurt_request **link = &loop->first, *done = NULL, **last = &done;

	while (*link) {
		struct npurt_request *request = *link;

		if (!request->done) {
			link = &request->next;
			continue;
		}
		*link = request->next;
		request->next = NULL;
		*last = request;
		last = &request->next;
	}
	loop->last = link;
	return done;
}

/* A callback may add requests. */
static int call_back(struct npurt_loop *loop)
{
	struct npurt_request *done = take_done(loop);
	int count = 0;

	while (done) {
		struct npurt_request *request = done;

		done = request->next;
		npurt_set_in_callback(true);
		request->callback(request->data, request->result);
		npurt_set_in_callback(false);
		free_request(request);
		count++;
	}
	let_go(loop);
	sweep(loop, false);
	return count;
}

int npurt_loop_run(struct npurt_loop *loop, int64_t timeout_ns)
{
	int64_t deadline = npurt_deadline(timeout_ns);
	int ret;

	if (!loop)
		return npurt_fail(-EINVAL, "npurt: npurt_loop_run() without a loop (NULL)");
	if (npurt_in_callback())
		return npurt_fail(-EDEADLK, "npurt: npurt_loop_run() inside a callback");
	for (;;) {
		look(loop);
		ret = call_back(loop);
		if (ret || loop->woken)
			break;
		if (timeout_ns && npurt_now() >= deadline)
			return 0;
		ret = loop->ops->wait(loop, timeout_ns ? nearest(loop, deadline) : 0);
		if (ret)
			return ret;
		if (timeout_ns)
			continue;
		/* Once is enough. */
		look(loop);
		ret = call_back(loop);
		break;
	}
	loop->woken = false;
	return ret;
}

void npurt_loop_destroy(struct npurt_loop *loop)
{
	struct npurt_request *request;
	bool left = true;

	if (!loop)
		return;
	loop->closing = true;
	for (request = loop->first; request; request = request->next) {
		if (!request->done)
			loop->ops->cancel(loop, request);
	}
	/* What a waiter uses is not let go of before it says so. */
	while (left) {
		left = false;
		for (request = loop->first; request; request = request->next)
			left |= !request->done;
		if (left && loop->ops->wait(loop, INT64_MAX))
			break;
	}
	call_back(loop);
	let_go(loop);
	loop->ops->close(loop);
	sweep(loop, true);
	close(loop->wake_fd);
	free(loop);
}
