// SPDX-License-Identifier: MIT
/* Threads and conditions. */
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "clock.h"
#include "error.h"

int npurt_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *what)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret)
		return npurt_fail(-ret, "npurt: no thread for %s: %s", what, strerror(ret));
	return 0;
}

void npurt_cond_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

int npurt_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t deadline_ns)
{
	const struct timespec deadline = npurt_timespec(deadline_ns);

	if (deadline_ns == INT64_MAX) {
		pthread_cond_wait(condition, lock);
		return 0;
	}
	if (npurt_now() >= deadline_ns)
		return -ETIMEDOUT;
	pthread_cond_timedwait(condition, lock, &deadline);
	return 0;
}
