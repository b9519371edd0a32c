/* SPDX-License-Identifier: MIT */
/*
 * The thread of a context that notices ends of tasks when nobody else waits for them, and the
 * callbacks and the descriptor that tell of them.
 */
#ifndef NPURT_NOTIFIER_H
#define NPURT_NOTIFIER_H

#include "objects.h"

/**
 * npurt_notifier_start() - have the context's thread, made at the first call
 *
 * Return: 0, -ENOMEM or -EAGAIN with a sentence.
 */
int npurt_notifier_start(struct npurt_context *context);

/**
 * npurt_notifier_want() - have tasks retired as soon as they are complete
 *
 * To be called before a task is submitted, and only after npurt_notifier_start().
 */
void npurt_notifier_want(struct npurt_context *context);

/** npurt_notifier_want_no_more() - that task has been retired, or was not submitted */
void npurt_notifier_want_no_more(struct npurt_context *context);

void npurt_notifier_wake(struct npurt_notifier *notifier);

/** npurt_notifier_submitted() - the queue has a task more */
static inline void npurt_notifier_submitted(struct npurt_context *context)
{
	struct npurt_notifier *notifier = __atomic_load_n(&context->notifier, __ATOMIC_ACQUIRE);

	if (notifier)
		npurt_notifier_wake(notifier);
}

/** npurt_notifier_completed() - futures are worth a look: make the descriptor readable */
void npurt_notifier_completed(struct npurt_context *context);

/** npurt_notifier_set_callback() - 0, -EBUSY with a sentence */
int npurt_notifier_set_callback(struct npurt_future *future, npurt_callback callback, void *data);

/** npurt_notifier_call() - a future with a callback is complete; may be called more than once */
void npurt_notifier_call(struct npurt_future *future);

/**
 * npurt_notifier_end() - run the callbacks that are left, and end the thread, if there is one
 *
 * Its queue has been killed. May be called by a callback.
 */
void npurt_notifier_end(struct npurt_context *context);

#endif /* NPURT_NOTIFIER_H */
