/* SPDX-License-Identifier: MIT */
/*
 * Threads of the library's own, and waiting for what another thread does.
 */
#ifndef NPURT_THREAD_H
#define NPURT_THREAD_H

#include <pthread.h>
#include <stdint.h>

/**
 * npurt_thread_start() - a thread with all signals blocked: they are the application's business
 * @what: whose thread, for the sentence: "a context"
 *
 * Return: 0, -EAGAIN with a sentence.
 */
int npurt_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *what);

/** npurt_cond_init() - a condition for npurt_cond_wait() */
void npurt_cond_init(pthread_cond_t *condition);

/**
 * npurt_cond_wait() - sleep until somebody signals, or a deadline
 * @deadline_ns: CLOCK_MONOTONIC; INT64_MAX: none
 *
 * May return for no reason.
 *
 * Return: 0; -ETIMEDOUT, never early.
 */
int npurt_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t deadline_ns);

#endif /* NPURT_THREAD_H */
