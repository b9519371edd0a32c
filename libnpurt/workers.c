// SPDX-License-Identifier: MIT
/* The worker pool. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "futex.h"
#include "objects.h"
#include "thread.h"
#include "workers.h"

/* A worker without work looks around this long before it sleeps. */
#define SPIN_NS 20000
#define LOOKS_A_TURN 16
#define LOOKS_BEFORE_YIELD 500
/* What a worker takes from another one at once. */
#define STEAL_MAX 16

/*
 * Jobs, newest first. The lock is held for a few instructions; as its acquisition is an atomic
 * exchange, who pushes and then finds no sleeper knows that a worker about to sleep sees the job:
 * it has said so before it looked into every stack, each under its lock.
 */
struct stack {
	uint32_t locked;
	struct npurt_job *top;
};

struct npurt_worker {
	struct npurt_workers *workers;
	pthread_t thread;
	bool frees; /* the pool, when it leaves: it has ended it itself */
	struct stack stack;
} __attribute__((aligned(64)));

struct npurt_workers {
	struct npurt_worker *worker;
	unsigned int count;
	unsigned int started;
	int64_t spin_ns;
	uint32_t stop;
	uint32_t sleepers;
	uint32_t wake; /* a futex: changes with every wake-up */
	struct stack common;
	struct npurt_job **common_end; /* jobs from elsewhere are served in order */
};

static _Thread_local bool in_callback;

bool npurt_in_callback(void)
{
	return in_callback;
}

void npurt_set_in_callback(bool inside)
{
	in_callback = inside;
}

/* Giving up the processor costs a turn of all others: only when the holder must have lost it. */
static void lock(struct stack *stack)
{
	unsigned int looks = 0;

	while (__atomic_exchange_n(&stack->locked, 1, __ATOMIC_ACQUIRE)) {
		while (__atomic_load_n(&stack->locked, __ATOMIC_RELAXED)) {
			npurt_relax();
			if (++looks % LOOKS_BEFORE_YIELD == 0)
				sched_yield();
		}
	}
}

static void unlock(struct stack *stack)
{
	__atomic_store_n(&stack->locked, 0, __ATOMIC_RELEASE);
}

static void push(struct stack *stack, struct npurt_job *first, struct npurt_job *last)
{
	lock(stack);
	last->next = stack->top;
	__atomic_store_n(&stack->top, first, __ATOMIC_RELAXED);
	unlock(stack);
}

static struct npurt_job *pop(struct stack *stack)
{
	struct npurt_job *job;

	lock(stack);
	job = __atomic_load_n(&stack->top, __ATOMIC_RELAXED);
	if (job)
		__atomic_store_n(&stack->top, job->next, __ATOMIC_RELAXED);
	unlock(stack);
	return job;
}

static void push_common(struct npurt_workers *workers, struct npurt_job *first,
			struct npurt_job *last)
{
	lock(&workers->common);
	last->next = NULL;
	__atomic_store_n(workers->common_end, first, __ATOMIC_RELAXED);
	workers->common_end = &last->next;
	unlock(&workers->common);
}

static struct npurt_job *pop_common(struct npurt_workers *workers)
{
	struct stack *stack = &workers->common;
	struct npurt_job *job;

	lock(stack);
	job = stack->top;
	if (job) {
		__atomic_store_n(&stack->top, job->next, __ATOMIC_RELAXED);
		if (!job->next)
			workers->common_end = &stack->top;
	}
	unlock(stack);
	return job;
}

/* Looked at without the lock: an empty stack is not worth taking it. */
static bool seems_empty(const struct stack *stack)
{
	return !__atomic_load_n(&stack->top, __ATOMIC_RELAXED);
}

/* The newest few, as a chain that ends with NULL. */
static struct npurt_job *pop_some(struct stack *stack)
{
	struct npurt_job *first, *last;
	unsigned int i;

	lock(stack);
	first = last = stack->top;
	for (i = 1; i < STEAL_MAX && last && last->next; i++)
		last = last->next;
	if (last) {
		__atomic_store_n(&stack->top, last->next, __ATOMIC_RELAXED);
		last->next = NULL;
	}
	unlock(stack);
	return first;
}

/* One to run; what came with it goes to the thief's own stack, where others find it. */
static struct npurt_job *steal(struct npurt_worker *worker)
{
	struct npurt_workers *workers = worker->workers;
	unsigned int me = (unsigned int)(worker - workers->worker), i;
	struct npurt_job *job = NULL, *last;

	for (i = 1; i < workers->count && !job; i++) {
		struct stack *other = &workers->worker[(me + i) % workers->count].stack;

		if (!seems_empty(other))
			job = pop_some(other);
	}
	if (!job || !job->next)
		return job;
	for (last = job->next; last->next; last = last->next)
		;
	push(&worker->stack, job->next, last);
	return job;
}

static struct npurt_job *find(struct npurt_worker *worker)
{
	struct npurt_job *job = NULL;

	if (!seems_empty(&worker->stack))
		job = pop(&worker->stack);
	if (!job && !seems_empty(&worker->workers->common))
		job = pop_common(worker->workers);
	return job ? job : steal(worker);
}

/* With every lock taken in turn: see struct stack. */
static bool is_there_work(struct npurt_workers *workers)
{
	bool found;
	unsigned int i;

	lock(&workers->common);
	found = workers->common.top;
	unlock(&workers->common);
	for (i = 0; i < workers->count && !found; i++) {
		lock(&workers->worker[i].stack);
		found = workers->worker[i].stack.top;
		unlock(&workers->worker[i].stack);
	}
	return found || __atomic_load_n(&workers->stop, __ATOMIC_SEQ_CST);
}

static void sleep_until_woken(struct npurt_workers *workers)
{
	uint32_t before = __atomic_load_n(&workers->wake, __ATOMIC_SEQ_CST);

	__atomic_fetch_add(&workers->sleepers, 1, __ATOMIC_SEQ_CST);
	if (!is_there_work(workers))
		npurt_futex_wait(&workers->wake, before, INT64_MAX);
	__atomic_fetch_sub(&workers->sleepers, 1, __ATOMIC_SEQ_CST);
}

static void wake(struct npurt_workers *workers, int count)
{
	__atomic_fetch_add(&workers->wake, 1, __ATOMIC_SEQ_CST);
	npurt_futex_wake(&workers->wake, count);
}

/* One wake-up for each job taken where there are more, so that the sleepers wake in a cascade. */
static void wake_another(struct npurt_worker *worker)
{
	struct npurt_workers *workers = worker->workers;

	if (__atomic_load_n(&workers->sleepers, __ATOMIC_RELAXED) &&
	    (!seems_empty(&worker->stack) || !seems_empty(&workers->common)))
		wake(workers, 1);
}

/* NULL: it shall end. What is queued when the pool is ended still runs. */
static struct npurt_job *next_job(struct npurt_worker *worker)
{
	struct npurt_workers *workers = worker->workers;
	int64_t until = 0;

	for (;;) {
		struct npurt_job *job = NULL;
		int64_t now;
		int i;

		for (i = 0; i < LOOKS_A_TURN && !job; i++) {
			job = find(worker);
			if (!job)
				npurt_relax();
		}
		if (job) {
			wake_another(worker);
			return job;
		}
		if (__atomic_load_n(&workers->stop, __ATOMIC_SEQ_CST))
			return NULL;
		now = npurt_now();
		if (!until)
			until = now + workers->spin_ns;
		if (now < until)
			continue;
		sleep_until_woken(workers);
		until = 0;
	}
}

static void release(struct npurt_workers *workers)
{
	free(workers->worker);
	free(workers);
}

static void *work(void *argument)
{
	struct npurt_worker *worker = argument;
	struct npurt_workers *workers = worker->workers;
	struct npurt_job *job;

	while ((job = next_job(worker)))
		job->run(job, worker);
	if (worker->frees)
		release(workers);
	return NULL;
}

void npurt_workers_free(struct npurt_workers *workers)
{
	bool by_worker = false;
	unsigned int i;

	if (!workers)
		return;
	__atomic_store_n(&workers->stop, 1, __ATOMIC_SEQ_CST);
	wake(workers, INT_MAX);
	for (i = 0; i < workers->started; i++) {
		pthread_t thread = workers->worker[i].thread;

		if (!pthread_equal(thread, pthread_self())) {
			pthread_join(thread, NULL);
			continue;
		}
		pthread_detach(thread);
		workers->worker[i].frees = true;
		by_worker = true;
	}
	if (!by_worker)
		release(workers);
}

void npurt_workers_push(struct npurt_workers *workers, struct npurt_worker *worker,
			struct npurt_job *first, struct npurt_job *last)
{
	if (worker)
		push(&worker->stack, first, last);
	else
		push_common(workers, first, last);
	/* One is enough: it wakes the next when it pushes itself, or takes all there is. */
	if (__atomic_load_n(&workers->sleepers, __ATOMIC_SEQ_CST))
		wake(workers, 1);
}

static unsigned int default_count(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus < 1)
		return 1;
	return cpus < NPURT_WORKERS_MAX ? (unsigned int)cpus : NPURT_WORKERS_MAX;
}

int npurt_workers_new(unsigned int count, struct npurt_workers **result)
{
	struct npurt_workers *workers = calloc(1, sizeof(*workers));
	unsigned int i;
	int ret = 0;

	if (!count)
		count = default_count();
	if (workers)
		workers->worker = aligned_alloc(64, count * sizeof(*workers->worker));
	if (!workers || !workers->worker) {
		free(workers);
		return npurt_fail(-ENOMEM, "npurt: no memory for a pool of workers");
	}
	memset(workers->worker, 0, count * sizeof(*workers->worker));
	workers->spin_ns = sysconf(_SC_NPROCESSORS_ONLN) < 2 ? 0 : SPIN_NS;
	workers->common_end = &workers->common.top;
	workers->count = count;
	for (i = 0; i < count; i++)
		workers->worker[i].workers = workers;
	for (i = 0; i < count && !ret; i++) {
		ret = npurt_thread_start(&workers->worker[i].thread, work, &workers->worker[i],
					 "a pool of workers");
		workers->started += !ret;
	}
	if (ret) {
		npurt_workers_free(workers);
		return ret;
	}
	*result = workers;
	return 0;
}
