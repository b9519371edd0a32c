// SPDX-License-Identifier: MIT
/* The thread that notices. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "notifier.h"
#include "objects.h"

/*
 * It waits for the device in turns of this length: the back end's wait cannot be cut short by
 * anything but the device, and a context that is destroyed must not wait for a task.
 */
#define TURN_NS (50 * 1000000ll)

struct npurt_notifier {
	struct npurt_queue *queue;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t wanted; /* tasks that somebody wants to be noticed */
	bool stop;
};

static uint64_t retired(const struct npurt_queue *queue)
{
	return __atomic_load_n(&queue->retired, __ATOMIC_ACQUIRE);
}

static void *notice(void *argument)
{
	struct npurt_notifier *notifier = argument;
	struct npurt_queue *queue = notifier->queue;

	pthread_mutex_lock(&notifier->lock);
	while (!notifier->stop) {
		if (!__atomic_load_n(&notifier->wanted, __ATOMIC_ACQUIRE)) {
			pthread_cond_wait(&notifier->changed, &notifier->lock);
			continue;
		}
		pthread_mutex_unlock(&notifier->lock);
		npurt_queue_wait(queue, retired(queue) + 1, npurt_now() + TURN_NS);
		npurt_queue_retire(queue);
		pthread_mutex_lock(&notifier->lock);
	}
	pthread_mutex_unlock(&notifier->lock);
	return NULL;
}

static int make(struct npurt_context *context, struct npurt_notifier **result)
{
	struct npurt_notifier *notifier = calloc(1, sizeof(*notifier));
	sigset_t all, before;
	int ret;

	if (!notifier)
		return npurt_fail(-ENOMEM, "npurt: no memory for a context's thread");
	notifier->queue = &context->queue;
	pthread_mutex_init(&notifier->lock, NULL);
	pthread_cond_init(&notifier->changed, NULL);
	/* The application's signals are the application's threads' business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&notifier->thread, NULL, notice, notifier);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret) {
		pthread_cond_destroy(&notifier->changed);
		pthread_mutex_destroy(&notifier->lock);
		free(notifier);
		return npurt_fail(-ret, "npurt: no thread for a context: %s", strerror(ret));
	}
	*result = notifier;
	return 0;
}

int npurt_notifier_start(struct npurt_context *context)
{
	int ret = 0;

	pthread_mutex_lock(&context->start_lock);
	if (!context->notifier)
		ret = make(context, &context->notifier);
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

void npurt_notifier_end(struct npurt_context *context)
{
	struct npurt_notifier *notifier = context->notifier;

	if (!notifier)
		return;
	pthread_mutex_lock(&notifier->lock);
	notifier->stop = true;
	pthread_cond_signal(&notifier->changed);
	pthread_mutex_unlock(&notifier->lock);
	pthread_join(notifier->thread, NULL);
	pthread_cond_destroy(&notifier->changed);
	pthread_mutex_destroy(&notifier->lock);
	free(notifier);
	context->notifier = NULL;
}
