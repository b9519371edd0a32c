// SPDX-License-Identifier: MIT
/*
 * A model on a thread of its own. See npu_model_thread.h.
 *
 * The model is behind a mutex that the thread holds while it runs, a bounded number of cycles at a
 * time. Ring doorbells do not take it: they are bits in a word the thread looks at. Who has
 * something for the thread stores it first and then looks whether the thread sleeps; the thread
 * says that it sleeps first and then looks once more for something to do. All four are sequentially
 * consistent, so one of the two sees the other.
 */
#include "npu_model_thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"
#include "npu/npu_regs.h"

/*
 * Cycles between two looks at doorbells and at who else wants the model. The firmware executes
 * every cycle, mostly cleaning up after a task; the next doorbell should not wait for that. Without
 * it time passes in leaps.
 */
#define CHUNK_CYCLES		20000
#define CHUNK_CYCLES_FIRMWARE	128

#define NS_PER_SECOND	1000000000ull

/* A replay that waits for a packet looks that often whether it is there. */
#define HOST_POLL_NS	200000ull

/* Turns of the spin loop between two looks at the clock. */
#define SPIN_TURNS	64

struct npu_model_thread {
	struct npu_model *model;
	pthread_t thread;
	pthread_mutex_t lock;		/* the model */
	uint64_t spin_ns;
	_Atomic uint64_t rung;		/* queues whose ring doorbell was stored to */
	uint32_t waiters;		/* callers that want the lock; accessed atomically */
	_Atomic bool work;		/* something was changed under the lock */
	_Atomic bool stop;
	_Atomic uint32_t asleep;	/* futex: 1 while the thread sleeps */
	_Atomic uint64_t time;

	/* Replays; under @lock */
	pthread_cond_t turn;		/* a write's turn may have come */
	uint64_t patience_ns;		/* 0: there is no replay */
	char awaited[200];		/* what the host is waited for to do; "": nothing */
	uint64_t awaited_since;
	char lapse[256];		/* what the host did not do; "": nothing */
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void wake(struct npu_model_thread *thread)
{
	if (!atomic_load(&thread->asleep) || !atomic_exchange(&thread->asleep, 0))
		return;
	syscall(SYS_futex, &thread->asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint32_t waiters(const struct npu_model_thread *thread)
{
	return __atomic_load_n(&thread->waiters, __ATOMIC_SEQ_CST);
}

static bool wanted(struct npu_model_thread *thread)
{
	return atomic_load(&thread->rung) || waiters(thread) || atomic_load(&thread->work) ||
	       atomic_load(&thread->stop);
}

/* Returns when wanted, or when the clock has reached @deadline. */
static void spin(struct npu_model_thread *thread, uint64_t deadline)
{
	do {
		for (unsigned int i = 0; i < SPIN_TURNS; i++) {
			if (wanted(thread))
				return;
			relax();
		}
	} while (clock_ns() < deadline);
}

/* As above, but asleep. */
static void doze(struct npu_model_thread *thread, uint64_t deadline)
{
	uint64_t now = clock_ns();
	struct timespec span = { 0 };

	if (now >= deadline)
		return;
	span.tv_sec = (time_t)((deadline - now) / NS_PER_SECOND);
	span.tv_nsec = (long)((deadline - now) % NS_PER_SECOND);
	atomic_store(&thread->asleep, 1);
	if (!wanted(thread))
		syscall(SYS_futex, &thread->asleep, FUTEX_WAIT_PRIVATE, 1,
			deadline == UINT64_MAX ? NULL : &span, NULL, 0);
	atomic_store(&thread->asleep, 0);
}

static uint64_t cycles_to_ns(const struct npu_model *model, uint64_t cycles)
{
	/* A timer hours away is as good as none. */
	if (cycles > UINT64_MAX / NS_PER_SECOND)
		return UINT64_MAX;
	return cycles * NS_PER_SECOND / npu_model_clock_now(model);
}

static uint64_t ns_to_cycles(const struct npu_model *model, uint64_t ns)
{
	if (ns > UINT64_MAX / npu_model_clock_now(model))
		return UINT64_MAX;
	return ns * npu_model_clock_now(model) / NS_PER_SECOND;
}

/* The device is idle. Called without the lock, returns without it. */
static void rest(struct npu_model_thread *thread, uint64_t timer_ns)
{
	uint64_t begin = clock_ns();
	uint64_t timer = timer_ns > UINT64_MAX - begin ? UINT64_MAX : begin + timer_ns;
	uint64_t spin_end = begin + thread->spin_ns;

	if (thread->spin_ns)
		spin(thread, spin_end < timer ? spin_end : timer);
	if (!wanted(thread))
		doze(thread, timer);
}

/* With the lock held: let the device sleep until something happens. */
static void idle(struct npu_model_thread *thread)
{
	uint64_t timer = npu_model_timer(thread->model);
	uint64_t timer_ns = timer == UINT64_MAX ? UINT64_MAX : cycles_to_ns(thread->model, timer);
	uint64_t begin = clock_ns();

	pthread_mutex_unlock(&thread->lock);
	rest(thread, timer_ns);
	pthread_mutex_lock(&thread->lock);
	/* Somebody may have armed another timer by now; npu_model_skip() stops at it. */
	if (npu_model_timer(thread->model) != UINT64_MAX)
		npu_model_skip(thread->model, ns_to_cycles(thread->model, clock_ns() - begin));
}

static void take_doorbells(struct npu_model_thread *thread)
{
	uint64_t rung = atomic_exchange(&thread->rung, 0);

	while (rung) {
		unsigned int queue = (unsigned int)__builtin_ctzll(rung);

		rung &= rung - 1;
		npu_model_doorbell(thread->model, queue, NPU_DOORBELL_RING, 0, 4);
	}
}

/* Let those in who wait; a mutex alone would be taken again before they wake up. */
static void make_room(struct npu_model_thread *thread)
{
	if (!waiters(thread))
		return;
	pthread_mutex_unlock(&thread->lock);
	while (waiters(thread))
		sched_yield();
	pthread_mutex_lock(&thread->lock);
}

static void replay_lapsed(struct npu_model_thread *thread, const char *what)
{
	snprintf(thread->lapse, sizeof(thread->lapse), "%s within %llu s", what,
		 (unsigned long long)(thread->patience_ns / NS_PER_SECOND));
	npu_model_replay_end(thread->model);
	pthread_cond_broadcast(&thread->turn);
}

/*
 * Time stands still in a replay until the host has done what it did. Those whose writes wait for
 * their turn are let in; packets come without a word.
 */
static void await_host(struct npu_model_thread *thread)
{
	char what[sizeof(thread->awaited)];
	uint64_t now = clock_ns();

	npu_model_awaits_host(thread->model, what, sizeof(what));
	if (strcmp(what, thread->awaited)) {
		strcpy(thread->awaited, what);
		thread->awaited_since = now;
	}
	if (now - thread->awaited_since >= thread->patience_ns) {
		replay_lapsed(thread, what);
		return;
	}
	pthread_mutex_unlock(&thread->lock);
	doze(thread, now + HOST_POLL_NS);
	pthread_mutex_lock(&thread->lock);
}

/* Until an arrival that is all there is to come, hours may pass. */
static uint64_t chunk(const struct npu_model *model)
{
	uint64_t leap = npu_arrivals_leap(model);

	if (npu_core_running(model))
		return CHUNK_CYCLES_FIRMWARE;
	return leap > CHUNK_CYCLES ? leap : CHUNK_CYCLES;
}

static void *run(void *opaque)
{
	struct npu_model_thread *thread = opaque;

	pthread_mutex_lock(&thread->lock);
	while (!atomic_load(&thread->stop)) {
		bool done;

		atomic_store(&thread->work, false);
		take_doorbells(thread);
		done = npu_model_run(thread->model, chunk(thread->model));
		atomic_store_explicit(&thread->time, npu_model_time(thread->model),
				      memory_order_release);
		if (thread->patience_ns)
			pthread_cond_broadcast(&thread->turn);
		make_room(thread);
		if (npu_model_awaits_host(thread->model, NULL, 0)) {
			await_host(thread);
			continue;
		}
		thread->awaited[0] = 0;
		if (done && !wanted(thread))
			idle(thread);
	}
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

static void enter(struct npu_model_thread *thread)
{
	__atomic_fetch_add(&thread->waiters, 1, __ATOMIC_SEQ_CST);
	wake(thread);
	pthread_mutex_lock(&thread->lock);
	__atomic_fetch_sub(&thread->waiters, 1, __ATOMIC_SEQ_CST);
}

/* @changed: there may be something for the device to do now. */
static void leave(struct npu_model_thread *thread, bool changed)
{
	if (changed)
		atomic_store(&thread->work, true);
	pthread_mutex_unlock(&thread->lock);
	if (changed)
		wake(thread);
}

uint32_t npu_model_thread_register_read(struct npu_model_thread *thread, uint32_t offset)
{
	uint32_t value;

	enter(thread);
	value = npu_model_register_read(thread->model, offset);
	leave(thread, false);
	return value;
}

void npu_model_thread_register_write(struct npu_model_thread *thread, uint32_t offset,
				     uint32_t value)
{
	enter(thread);
	while (!npu_model_write_may_come(thread->model, offset, value))
		pthread_cond_wait(&thread->turn, &thread->lock);
	/* The next thing that is waited for may read the same. */
	thread->awaited[0] = 0;
	npu_model_register_write(thread->model, offset, value);
	leave(thread, true);
}

uint32_t npu_model_thread_irq_pending(struct npu_model_thread *thread)
{
	uint32_t pending;

	enter(thread);
	pending = npu_model_irq_pending(thread->model);
	leave(thread, false);
	return pending;
}

void npu_model_thread_doorbell(struct npu_model_thread *thread, unsigned int queue, uint32_t offset,
			       uint64_t value, unsigned int size)
{
	if (queue >= 64)
		return;
	if (offset == NPU_DOORBELL_RING) {
		atomic_fetch_or(&thread->rung, 1ull << queue);
		wake(thread);
		return;
	}
	enter(thread);
	npu_model_doorbell(thread->model, queue, offset, value, size);
	leave(thread, true);
}

void npu_model_thread_memory_changed(struct npu_model_thread *thread)
{
	enter(thread);
	npu_model_memory_changed(thread->model);
	leave(thread, false);
}

void npu_model_thread_reset(struct npu_model_thread *thread)
{
	enter(thread);
	atomic_store(&thread->rung, 0);
	npu_model_reset(thread->model);
	leave(thread, true);
}

void npu_model_thread_power_cycle(struct npu_model_thread *thread)
{
	enter(thread);
	atomic_store(&thread->rung, 0);
	npu_model_power_cycle(thread->model);
	leave(thread, true);
}

uint64_t npu_model_thread_time(const struct npu_model_thread *thread)
{
	return atomic_load_explicit(&thread->time, memory_order_acquire);
}

int npu_model_thread_record(struct npu_model_thread *thread, const char *path, char *error,
			    size_t size)
{
	int result;

	enter(thread);
	result = npu_model_record(thread->model, path, error, size);
	leave(thread, false);
	return result;
}

int npu_model_thread_record_end(struct npu_model_thread *thread)
{
	int result;

	enter(thread);
	result = npu_model_record_end(thread->model);
	leave(thread, false);
	return result;
}

int npu_model_thread_replay(struct npu_model_thread *thread, const char *path,
			    unsigned int patience_s, char *error, size_t size)
{
	int result;

	enter(thread);
	result = npu_model_replay_patiently(thread->model, path, error, size);
	if (!result)
		thread->patience_ns = patience_s * NS_PER_SECOND;
	leave(thread, true);
	return result;
}

bool npu_model_thread_replay_lapsed(struct npu_model_thread *thread, char *text, size_t size)
{
	bool lapsed;

	enter(thread);
	lapsed = thread->lapse[0];
	snprintf(text, size, "%s", thread->lapse);
	leave(thread, false);
	return lapsed;
}

/* The thread must not be the one that handles the application's signals. */
static int start(struct npu_model_thread *thread)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	/* The thread's own faults: blocked, they end the process whatever handler it has. */
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&thread->thread, NULL, run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

struct npu_model_thread *npu_model_thread_create(const char *config,
						 const struct npu_model_host_ops *ops, void *host,
						 unsigned int spin_us, char *error,
						 size_t error_size)
{
	struct npu_model_thread *thread = calloc(1, sizeof(*thread));
	const char *reason = "npu-model: not enough memory for the model's thread";

	if (!thread)
		goto failed;
	thread->model = npu_model_create(config, ops, host, error, error_size);
	if (!thread->model) {
		free(thread);
		return NULL;
	}
	thread->model->yield = &thread->waiters;
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		thread->spin_ns = spin_us * 1000ull;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->turn, NULL);
	if (!start(thread))
		return thread;
	reason = "npu-model: the system refuses another thread (see ulimit -u)";
	pthread_cond_destroy(&thread->turn);
	pthread_mutex_destroy(&thread->lock);
	npu_model_destroy(thread->model);
	free(thread);
failed:
	if (error && error_size)
		snprintf(error, error_size, "%s", reason);
	return NULL;
}

void npu_model_thread_destroy(struct npu_model_thread *thread)
{
	if (!thread)
		return;
	atomic_store(&thread->stop, true);
	wake(thread);
	pthread_join(thread->thread, NULL);
	pthread_cond_destroy(&thread->turn);
	pthread_mutex_destroy(&thread->lock);
	npu_model_destroy(thread->model);
	free(thread);
}
