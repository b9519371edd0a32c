/* SPDX-License-Identifier: MIT */
/*
 * The thread of a context that notices ends of tasks when nobody else waits for them.
 */
#ifndef NPURT_NOTIFIER_H
#define NPURT_NOTIFIER_H

struct npurt_context;
struct npurt_notifier;

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

/** npurt_notifier_end() - end the thread, if there is one */
void npurt_notifier_end(struct npurt_context *context);

#endif /* NPURT_NOTIFIER_H */
