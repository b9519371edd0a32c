// SPDX-License-Identifier: MIT
/* The thread that notices, and how it tells. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "notifier.h"
#include "thread.h"
#include "workers.h"

struct npurt_notifier {
	struct npurt_context *context;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t wanted; /* tasks that somebody wants to be noticed */
	uint32_t asleep; /* submissions are news */
	int fd; /* -1: none has been asked for */
	bool told; /* the descriptor is readable */
	struct npurt_future *first, *last; /* whose callbacks are due */
	bool stop;
	bool orphan; /* a callback has ended us: to be freed by the thread */
};

/* ------------------------------------------------------------------- callbacks */

/* Under the lock. */
static struct npurt_future *take_due(struct npurt_notifier *notifier)
{
	struct npurt_future *due = notifier->first;

	notifier->first = notifier->last = NULL;
	return due;
}

/* A chain of them, each with a reference of its own. */
static int call_back(struct npurt_future *due)
{
	int count = 0;

	while (due) {
		struct npurt_future *future = due;

		due = future->next_called;
		npurt_set_in_callback(true);
		future->callback(future, future->callback_data);
		npurt_set_in_callback(false);
		npurt_future_put(future);
		count++;
	}
	return count;
}

/* Under the lock. */
static void tell(struct npurt_notifier *notifier)
{
	const uint64_t one = 1;

	if (notifier->fd < 0)
		pthread_cond_signal(&notifier->changed);
	else if (!notifier->told)
		notifier->told = write(notifier->fd, &one, sizeof(one)) == sizeof(one);
}

/* Under the lock. */
static void queue_call(struct npurt_notifier *notifier, struct npurt_future *future)
{
	if (future->call_queued)
		return;
	future->call_queued = true;
	if (notifier->last)
		notifier->last->next_called = future;
	else
		notifier->first = future;
	notifier->last = future;
	if (future->on_queue)
		__atomic_fetch_sub(&notifier->wanted, 1, __ATOMIC_ACQ_REL);
	tell(notifier);
}

void npurt_notifier_call(struct npurt_future *future)
{
	struct npurt_notifier *notifier = future->context->notifier;

	pthread_mutex_lock(&notifier->lock);
	queue_call(notifier, future);
	pthread_mutex_unlock(&notifier->lock);
}

int npurt_notifier_set_callback(struct npurt_future *future, npurt_callback callback, void *data)
{
	struct npurt_notifier *notifier = future->context->notifier;

	pthread_mutex_lock(&notifier->lock);
	if (future->callback) {
		pthread_mutex_unlock(&notifier->lock);
		return npurt_fail(-EBUSY, "npurt: the future has a callback already");
	}
	npurt_count_up(&future->references);
	if (future->on_queue)
		__atomic_fetch_add(&notifier->wanted, 1, __ATOMIC_ACQ_REL);
	future->callback_data = data;
	__atomic_store_n(&future->callback, callback, __ATOMIC_SEQ_CST);
	/* Who completes it either sees the callback, or has been seen here. */
	if (__atomic_load_n(&future->complete, __ATOMIC_SEQ_CST))
		queue_call(notifier, future);
	else
		pthread_cond_signal(&notifier->changed);
	/* From here on it may be called, and everything gone. */
	pthread_mutex_unlock(&notifier->lock);
	return 0;
}

/* ---------------------------------------------------------------------- thread */

static uint64_t retired(const struct npurt_queue *queue)
{
	return __atomic_load_n(&queue->retired, __ATOMIC_ACQUIRE);
}

static bool has_to_watch(const struct npurt_notifier *notifier)
{
	const struct npurt_queue *queue = &notifier->context->queue;

	return __atomic_load_n(&notifier->wanted, __ATOMIC_ACQUIRE) ||
	       (notifier->fd >= 0 && retired(queue) < npurt_ring_written(&queue->ring));
}

/* Returns false when a callback has let go of the context, and with it of us. */
static bool call_due(struct npurt_notifier *notifier)
{
	struct npurt_context *context = notifier->context;
	struct npurt_future *due = take_due(notifier);
	bool held;

	pthread_mutex_unlock(&notifier->lock);
	/* Not while it is being freed, which waits for us. */
	held = npurt_context_try_get(context);
	call_back(due);
	if (held)
		npurt_context_put(context);
	if (notifier->orphan)
		return false;
	pthread_mutex_lock(&notifier->lock);
	return true;
}

static void watch(struct npurt_notifier *notifier)
{
	struct npurt_queue *queue = &notifier->context->queue;

	pthread_mutex_unlock(&notifier->lock);
	npurt_queue_wait(queue, retired(queue) + 1, npurt_now() + NPURT_TURN_NS);
	npurt_queue_retire(queue);
	pthread_mutex_lock(&notifier->lock);
}

/* Until something changes. Who submits looks at `asleep` after its packets are there. */
static void sleep_unless_needed(struct npurt_notifier *notifier)
{
	__atomic_store_n(&notifier->asleep, notifier->fd >= 0, __ATOMIC_SEQ_CST);
	npurt_fence();
	if (!has_to_watch(notifier))
		pthread_cond_wait(&notifier->changed, &notifier->lock);
	__atomic_store_n(&notifier->asleep, 0, __ATOMIC_SEQ_CST);
}

static void notifier_free(struct npurt_notifier *notifier)
{
	if (notifier->fd >= 0)
		close(notifier->fd);
	pthread_cond_destroy(&notifier->changed);
	pthread_mutex_destroy(&notifier->lock);
	free(notifier);
}

static void *notice(void *argument)
{
	struct npurt_notifier *notifier = argument;

	pthread_mutex_lock(&notifier->lock);
	for (;;) {
		/* At the end also those that nobody has dispatched. */
		if (notifier->first && (notifier->fd < 0 || notifier->stop)) {
			if (call_due(notifier))
				continue;
			notifier_free(notifier);
			return NULL;
		}
		if (notifier->stop)
			break;
		if (has_to_watch(notifier))
			watch(notifier);
		else
			sleep_unless_needed(notifier);
	}
	pthread_mutex_unlock(&notifier->lock);
	return NULL;
}

static int make(struct npurt_context *context, struct npurt_notifier **result)
{
	struct npurt_notifier *notifier = calloc(1, sizeof(*notifier));
	int ret;

	if (!notifier)
		return npurt_fail(-ENOMEM, "npurt: no memory for a context's thread");
	notifier->context = context;
	notifier->fd = -1;
	pthread_mutex_init(&notifier->lock, NULL);
	pthread_cond_init(&notifier->changed, NULL);
	ret = npurt_thread_start(&notifier->thread, notice, notifier, "a context");
	if (ret) {
		notifier_free(notifier);
		return ret;
	}
	*result = notifier;
	return 0;
}

int npurt_notifier_start(struct npurt_context *context)
{
	struct npurt_notifier *notifier = NULL;
	int ret = 0;

	pthread_mutex_lock(&context->start_lock);
	if (!context->notifier)
		ret = make(context, &notifier);
	if (notifier)
		__atomic_store_n(&context->notifier, notifier, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&context->start_lock);
	return ret;
}

void npurt_notifier_want(struct npurt_context *context)
{
	struct npurt_notifier *notifier = context->notifier;

	if (__atomic_fetch_add(&notifier->wanted, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_lock(&notifier->lock);
	pthread_cond_signal(&notifier->changed);
	pthread_mutex_unlock(&notifier->lock);
}

void npurt_notifier_want_no_more(struct npurt_context *context)
{
	__atomic_fetch_sub(&context->notifier->wanted, 1, __ATOMIC_ACQ_REL);
}

void npurt_notifier_wake(struct npurt_notifier *notifier)
{
	if (!__atomic_load_n(&notifier->asleep, __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_lock(&notifier->lock);
	pthread_cond_signal(&notifier->changed);
	pthread_mutex_unlock(&notifier->lock);
}

void npurt_notifier_completed(struct npurt_context *context)
{
	struct npurt_notifier *notifier = __atomic_load_n(&context->notifier, __ATOMIC_ACQUIRE);

	if (!notifier)
		return;
	pthread_mutex_lock(&notifier->lock);
	if (notifier->fd >= 0)
		tell(notifier);
	pthread_mutex_unlock(&notifier->lock);
}

void npurt_notifier_end(struct npurt_context *context)
{
	struct npurt_notifier *notifier = context->notifier;

	if (!notifier)
		return;
	pthread_mutex_lock(&notifier->lock);
	notifier->stop = true;
	pthread_cond_signal(&notifier->changed);
	pthread_mutex_unlock(&notifier->lock);
	if (!pthread_equal(pthread_self(), notifier->thread)) {
		pthread_join(notifier->thread, NULL);
		notifier_free(notifier);
		return;
	}
	while (notifier->first)
		call_back(take_due(notifier));
	pthread_detach(notifier->thread);
	notifier->orphan = true;
}

/* ------------------------------------------------------------------ descriptor */

int npurt_context_get_fd(struct npurt_context *context)
{
	struct npurt_notifier *notifier;
	int ret;

	if (!context)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_context_get_fd() without a context (NULL)");
	ret = npurt_check_ours(context->device);
	if (!ret)
		ret = npurt_notifier_start(context);
	if (ret)
		return ret;
	notifier = context->notifier;
	pthread_mutex_lock(&notifier->lock);
	if (notifier->fd < 0) {
		/* At first readable: nobody knows what has completed before. */
		notifier->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
		if (notifier->fd < 0)
			ret = npurt_fail(-errno, "npurt: no file descriptor for a context: %s",
					 strerror(errno));
		else
			notifier->told = true;
		pthread_cond_signal(&notifier->changed);
	}
	if (!ret)
		ret = notifier->fd;
	pthread_mutex_unlock(&notifier->lock);
	return ret;
}

int npurt_dispatch(struct npurt_context *context)
{
	struct npurt_notifier *notifier;
	struct npurt_future *due;
	uint64_t count;
	int ret;

	if (!context)
		return npurt_fail(-EINVAL, "npurt: npurt_dispatch() without a context (NULL)");
	ret = npurt_check_ours(context->device);
	if (ret)
		return ret;
	if (npurt_in_callback())
		return npurt_fail(-EDEADLK, "npurt: npurt_dispatch() inside a callback");
	notifier = __atomic_load_n(&context->notifier, __ATOMIC_ACQUIRE);
	if (!notifier)
		return npurt_fail(-EINVAL,
				  "npurt: npurt_dispatch(): call npurt_context_get_fd() first");
	pthread_mutex_lock(&notifier->lock);
	if (notifier->fd < 0) {
		pthread_mutex_unlock(&notifier->lock);
		return npurt_fail(-EINVAL,
				  "npurt: npurt_dispatch(): call npurt_context_get_fd() first");
	}
	/* Two at once: one finds nothing to read, which is as well. */
	if (read(notifier->fd, &count, sizeof(count)) < 0)
		count = 0;
	/* What completes from here on tells again; who looks after us sees what did before. */
	notifier->told = false;
	due = take_due(notifier);
	pthread_mutex_unlock(&notifier->lock);
	npurt_count_up(&context->handles);
	ret = call_back(due);
	npurt_context_put(context);
	return ret;
}
