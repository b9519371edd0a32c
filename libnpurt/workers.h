/* SPDX-License-Identifier: MIT */
/*
 * A few threads that run what must not run on an application's thread: host tasks of graphs, and
 * what follows from their end.
 *
 * Each worker has a stack of jobs of its own, and takes from others' when it is empty; jobs from
 * elsewhere go to a common list. A job's memory is the caller's, and free once it runs.
 */
#ifndef NPURT_WORKERS_H
#define NPURT_WORKERS_H

#include <stdbool.h>

struct npurt_workers;
struct npurt_worker;

struct npurt_job {
	struct npurt_job *next;
	void (*run)(struct npurt_job *job, struct npurt_worker *worker);
};

/**
 * npurt_workers_new() - start them
 * @count: how many; 0: one for each CPU, at most NPURT_WORKERS_MAX
 *
 * Return: 0, -ENOMEM or -EAGAIN with a sentence.
 */
int npurt_workers_new(unsigned int count, struct npurt_workers **workers);

#define NPURT_WORKERS_MAX 4

/**
 * npurt_workers_free() - end them when their jobs are done
 * @workers: may be NULL
 *
 * May be called by a worker.
 */
void npurt_workers_free(struct npurt_workers *workers);

/**
 * npurt_workers_push() - have jobs run
 * @worker: the calling worker, NULL elsewhere
 * @first: a chain of jobs
 * @last: its end
 *
 * Takes no lock that is held for long; may be called under any.
 */
void npurt_workers_push(struct npurt_workers *workers, struct npurt_worker *worker,
			struct npurt_job *first, struct npurt_job *last);

/** npurt_in_callback() - is the calling thread inside an application's callback? */
bool npurt_in_callback(void);

/** npurt_set_in_callback() - it is from now on, or no longer */
void npurt_set_in_callback(bool inside);

#endif /* NPURT_WORKERS_H */
