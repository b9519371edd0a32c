// SPDX-License-Identifier: MIT
/*
 * Interrupts of a `sim:` device: sleepers on semaphores, faults, the mailbox.
 *
 * A sleeper costs the device one event: the events are drained inside irq() already, so that a
 * sleeper wakes without a detour; the interrupt thread then acknowledges and re-arms watches.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "futex.h"
#include "sim.h"
#include "thread.h"

/* In sim->interrupts, beside the vectors: the thread shall look whether it is to end. */
#define STOP_BIT (1u << 31)
/* ... or shall look at everything. */
#define LOOK_BIT (1u << 30)

/* ----------------------------------------------------------------- sleepers */

static uint64_t value_of(const struct sim_context *context, uint32_t semaphore)
{
	return le64toh(__atomic_load_n(&context->base.semaphores[semaphore], __ATOMIC_ACQUIRE));
}

/* Wakes a sleeper. It may be gone by the time of the system call, which then does nothing. */
static void wake(struct sim_waiter *waiter)
{
	__atomic_store_n(&waiter->woken, 1, __ATOMIC_RELEASE);
	npurt_futex_wake(&waiter->woken, INT_MAX);
}

static void wake_all(const struct sim_context *context)
{
	struct sim_waiter *waiter;

	for (waiter = context->waiters; waiter; waiter = waiter->next)
		wake(waiter);
}

/* What the device fetches when the watch is armed. Under event_lock. */
static void store_threshold(struct sim_context *context, uint32_t semaphore)
{
	const struct npu_watch_waiter *lowest =
		npu_watch_lowest(&context->watches[semaphore].waiters);

	__atomic_store_n(&context->thresholds[semaphore], htole64(lowest->value), __ATOMIC_RELEASE);
}

/* Whoever has stored a newer threshold since arms the watch as well, so nothing is lost. */
static void arm(struct sim *sim, uint32_t context, uint32_t semaphore)
{
	sim_write(sim, NPU_REG_WATCH_ARM, context << 16 | semaphore);
}

/* Under event_lock, as is every change of sim->context[]. */
static struct sim_context *context_at(struct sim *sim, uint32_t index)
{
	return index < SIM_CONTEXTS_MAX ? sim->context[index] : NULL;
}

/* A watch fired: wake those that are met, and have it armed for the others. Under event_lock. */
static void watch_fired(struct sim *sim, uint32_t index, uint32_t semaphore)
{
	struct sim_context *context = context_at(sim, index);
	struct npu_watch_waiter *met;
	struct sim_watch *watch;
	uint64_t value;

	if (!context || semaphore >= sim->semaphores)
		return;
	watch = &context->watches[semaphore];
	value = value_of(context, semaphore);
	while ((met = npu_watch_take(&watch->waiters, value)))
		wake((struct sim_waiter *)met);
	watch->rearm = npu_watch_lowest(&watch->waiters) != NULL;
	context->rearm |= watch->rearm;
}

/* Tells whether the watch is to be armed. Under event_lock. */
static bool link_waiter(struct sim_context *context, uint32_t semaphore, uint64_t value,
			struct sim_waiter *waiter)
{
	waiter->next = context->waiters;
	waiter->link = &context->waiters;
	if (waiter->next)
		waiter->next->link = &waiter->next;
	context->waiters = waiter;
	if (!npu_watch_add(&context->watches[semaphore].waiters, &waiter->node, value))
		return false;
	store_threshold(context, semaphore);
	return true;
}

/* Under event_lock. */
static void unlink_waiter(struct sim_context *context, uint32_t semaphore,
			  struct sim_waiter *waiter)
{
	npu_watch_remove(&context->watches[semaphore].waiters, &waiter->node);
	*waiter->link = waiter->next;
	if (waiter->next)
		waiter->next->link = waiter->link;
}

static int check_alive(struct sim_context *context)
{
	if (sim_context_is_lost(context))
		return sim_fail_lost(context);
	if (__atomic_load_n(&context->stopped, __ATOMIC_ACQUIRE))
		return npurt_fail(-EIO, "sim: a queue of the context has stopped");
	return sim_check_replay(context->sim);
}

/* Until the semaphore is there, or something else ends the wait. */
static int sleep_until(struct sim_context *context, const struct npurt_wait *wait,
		       struct sim_waiter *waiter)
{
	int ret;

	for (;;) {
		int64_t until = npurt_now() + NPURT_NS_PER_SECOND;

		/* What was woken for is seen below; what comes later ends the futex's wait. */
		__atomic_exchange_n(&waiter->woken, 0, __ATOMIC_ACQ_REL);
		/* Asked first: a value that was there before the end counts. */
		ret = check_alive(context);
		if (value_of(context, wait->semaphore) >= wait->value)
			return 0;
		if (ret)
			return ret;
		if (npurt_now() >= wait->deadline_ns)
			return -ETIMEDOUT;
		/* Once a second it looks by itself, should an interrupt be lost. */
		npurt_futex_wait(&waiter->woken, 0,
				 until < wait->deadline_ns ? until : wait->deadline_ns);
		if (npurt_now() >= until && !__atomic_load_n(&waiter->woken, __ATOMIC_ACQUIRE))
			sim_check_life(context->sim);
	}
}

int sim_wait(struct npurt_backend_context *base, const struct npurt_wait *wait)
{
	struct sim_context *context = sim_context_of(base);
	struct sim *sim = context->sim;
	struct sim_waiter waiter = { 0 };
	bool lowest;
	int ret;

	if (value_of(context, wait->semaphore) >= wait->value)
		return 0;
	pthread_mutex_lock(&sim->event_lock);
	lowest = link_waiter(context, wait->semaphore, wait->value, &waiter);
	pthread_mutex_unlock(&sim->event_lock);
	if (lowest)
		arm(sim, context->index, wait->semaphore);
	ret = sleep_until(context, wait, &waiter);
	pthread_mutex_lock(&sim->event_lock);
	unlink_waiter(context, wait->semaphore, &waiter);
	pthread_mutex_unlock(&sim->event_lock);
	return ret;
}

/* Its sleepers must look at their ring. Under event_lock. */
static void stop_context(struct sim *sim, uint32_t index, uint32_t error)
{
	struct sim_context *context = context_at(sim, index);

	if (!context)
		return;
	__atomic_store_n(&context->stopped, error ? error : 1, __ATOMIC_RELEASE);
	wake_all(context);
}

void sim_context_stopped(struct sim *sim, uint32_t index, uint32_t error)
{
	pthread_mutex_lock(&sim->event_lock);
	stop_context(sim, index, error);
	pthread_mutex_unlock(&sim->event_lock);
}

void sim_lose_contexts(struct sim *sim)
{
	struct sim_context *context;
	uint32_t i;

	for (i = 0; i < SIM_CONTEXTS_MAX; i++) {
		context = sim->context[i];
		if (!context)
			continue;
		memcpy(context->why_lost, sim->why, sizeof(context->why_lost));
		__atomic_store_n(&context->lost, 1, __ATOMIC_RELEASE);
		wake_all(context);
	}
}

/* -------------------------------------------------------------------- rings */

/* The entry at the consumer's index if the device has written it. */
static const unsigned char *host_ring_next(struct sim_host_ring *ring, unsigned int log2,
					   size_t entry_bytes, uint32_t *header)
{
	uint32_t slot = ring->consumer & ((1u << log2) - 1);
	const unsigned char *entry = ring->entries + slot * entry_bytes;
	uint32_t phase = !((ring->consumer >> log2) & 1);

	*header = le32toh(__atomic_load_n((const uint32_t *)(const void *)entry, __ATOMIC_ACQUIRE));
	if ((*header & 1) != phase)
		return NULL;
	ring->consumer++;
	return entry;
}

/* Under event_lock. */
static void drain_events(struct sim *sim)
{
	const unsigned char *entry;
	uint32_t header;

	while ((entry = host_ring_next(&sim->events, SIM_EVENTS_LOG2, sizeof(struct npu_event),
				       &header))) {
		struct npu_event event;

		memcpy(&event, entry, sizeof(event));
		switch (header >> 8 & 0xff) {
		case NPU_EVENT_WATCH:
			watch_fired(sim, header >> 16, le32toh(event.sem));
			break;
		case NPU_EVENT_QUEUE_ERROR:
			stop_context(sim, header >> 16, (uint32_t)le64toh(event.value));
			break;
		default:
			break;
		}
	}
}

/* Under event_lock. */
static void drain_faults(struct sim *sim)
{
	const unsigned char *entry;
	uint32_t header;

	while ((entry = host_ring_next(&sim->faults, SIM_FAULTS_LOG2, sizeof(struct npu_fault),
				       &header))) {
		struct sim_context *context = context_at(sim, header >> 16 & 0xff);

		if (context)
			memcpy(&context->fault[context->fault_count++ % SIM_FAULTS_KEPT], entry,
			       sizeof(struct npu_fault));
	}
}

int sim_last_fault(struct npurt_backend_context *base, uint32_t task_id, struct npurt_fault *fault)
{
	struct sim_context *context = sim_context_of(base);
	struct sim *sim = context->sim;
	uint32_t i, kept;
	int ret = -ENOENT;

	pthread_mutex_lock(&sim->event_lock);
	/* The record of the task came after that of the fault. */
	drain_faults(sim);
	kept = context->fault_count < SIM_FAULTS_KEPT ? context->fault_count : SIM_FAULTS_KEPT;
	for (i = 1; i <= kept; i++) {
		const struct npu_fault *from =
			&context->fault[(context->fault_count - i) % SIM_FAULTS_KEPT];

		if (le32toh(from->task_id) != task_id)
			continue;
		fault->error = le32toh(from->header) >> 8 & 0xff;
		fault->access = le32toh(from->access);
		fault->cluster = le32toh(from->cluster);
		fault->address = le64toh(from->address);
		fault->program_offset = le64toh(from->program_offset);
		ret = 0;
		break;
	}
	pthread_mutex_unlock(&sim->event_lock);
	return ret;
}

/* --------------------------------------------------------------- interrupts */

void sim_irq(void *host, uint32_t vectors)
{
	struct sim *sim = host;

	if (vectors & NPU_IRQ_EVENT) {
		pthread_mutex_lock(&sim->event_lock);
		drain_events(sim);
		pthread_mutex_unlock(&sim->event_lock);
	}
	__atomic_fetch_or(&sim->interrupts, vectors, __ATOMIC_RELEASE);
	npurt_futex_wake(&sim->interrupts, INT_MAX);
}

/* A watch that is to be armed again, its threshold stored; false when there is none. */
static bool rearm_next(struct sim_context *context, uint32_t *semaphore)
{
	struct sim_watch *watch;

	for (*semaphore = 0; *semaphore < context->sim->semaphores; ++*semaphore) {
		watch = &context->watches[*semaphore];
		if (!watch->rearm)
			continue;
		watch->rearm = false;
		/* Those it was for may have left. */
		if (!npu_watch_lowest(&watch->waiters))
			continue;
		store_threshold(context, *semaphore);
		return true;
	}
	context->rearm = false;
	return false;
}

/* Arms the watches of those whose event has been used up by somebody else. */
static void rearm_context(struct sim *sim, uint32_t index)
{
	struct sim_context *context;
	uint32_t semaphore;
	bool found;

	do {
		pthread_mutex_lock(&sim->event_lock);
		context = context_at(sim, index);
		found = context && context->rearm && rearm_next(context, &semaphore);
		pthread_mutex_unlock(&sim->event_lock);
		if (found)
			arm(sim, index, semaphore);
	} while (found);
}

/* Has it come to an end? */
static void look_at_state(struct sim *sim)
{
	uint32_t generation = sim_generation(sim);

	if (sim_read(sim, NPU_REG_ID) != NPU_ID_VALUE)
		sim_died(sim, generation, "it does not answer");
	else if (sim_read(sim, NPU_REG_ERROR_STATUS) & NPU_ERROR_STATUS_TEMPERATURE)
		sim_died(sim, generation, "it became too hot");
	else if (sim_read(sim, NPU_REG_FW_STATE) == NPU_FW_STATE_PANIC)
		sim_died(sim, generation, "its firmware died");
}

/* Under handle_lock, so that what is seen is this device's, and not that of before a reset. */
static void handle(struct sim *sim, uint32_t vectors)
{
	uint32_t events, faults, i;

	if (sim_is_dead(sim))
		return;
	if (vectors & LOOK_BIT)
		vectors = (1u << NPU_IRQ_COUNT) - 1;
	/* Cleared first: what comes from here on is a new edge. */
	sim_write(sim, NPU_REG_IRQ_STATUS, vectors);
	if (vectors & NPU_IRQ_MAILBOX)
		sim_mailbox_interrupt(sim);
	if (vectors & (NPU_IRQ_EVENT | NPU_IRQ_FAULT)) {
		pthread_mutex_lock(&sim->event_lock);
		drain_events(sim);
		drain_faults(sim);
		events = sim->events.consumer;
		faults = sim->faults.consumer;
		pthread_mutex_unlock(&sim->event_lock);
		sim_write(sim, NPU_REG_EVENT_CONSUMER, events);
		sim_write(sim, NPU_REG_FAULT_CONSUMER, faults);
		for (i = 0; i < sim->contexts; i++)
			rearm_context(sim, i);
	}
	if (vectors & NPU_IRQ_FATAL) {
		/* The firmware's last message, if it could write one, says why. */
		sim_mailbox_interrupt(sim);
		look_at_state(sim);
	}
}

static void *interrupt_thread(void *argument)
{
	struct sim *sim = argument;

	while (!__atomic_load_n(&sim->stop, __ATOMIC_ACQUIRE)) {
		uint32_t vectors = __atomic_exchange_n(&sim->interrupts, 0, __ATOMIC_ACQ_REL);

		if (!vectors)
			npurt_futex_wait(&sim->interrupts, 0, INT64_MAX);
		if (!(vectors & ~STOP_BIT))
			continue;
		pthread_mutex_lock(&sim->handle_lock);
		handle(sim, vectors & ~STOP_BIT);
		pthread_mutex_unlock(&sim->handle_lock);
	}
	return NULL;
}

static int host_ring_init(struct sim *sim, struct sim_host_ring *ring, uint64_t bytes)
{
	ring->dma = sim_pages_alloc(sim, bytes, SIM_PAGE);
	if (!ring->dma)
		return npurt_fail(-ENOMEM, "sim: no memory for a ring of events");
	ring->entries = sim_pointer(sim, ring->dma);
	return 0;
}

void sim_look(struct sim *sim)
{
	__atomic_fetch_or(&sim->interrupts, LOOK_BIT, __ATOMIC_RELEASE);
	npurt_futex_wake(&sim->interrupts, INT_MAX);
}

void sim_events_reset(struct sim *sim)
{
	pthread_mutex_lock(&sim->event_lock);
	memset(sim->events.entries, 0, sizeof(struct npu_event) << SIM_EVENTS_LOG2);
	memset(sim->faults.entries, 0, sizeof(struct npu_fault) << SIM_FAULTS_LOG2);
	sim->events.consumer = 0;
	sim->faults.consumer = 0;
	pthread_mutex_unlock(&sim->event_lock);
	sim_write(sim, NPU_REG_EVENT_BASE_LO, (uint32_t)sim->events.dma);
	sim_write(sim, NPU_REG_EVENT_BASE_HI, (uint32_t)(sim->events.dma >> 32));
	sim_write(sim, NPU_REG_EVENT_LOG2, SIM_EVENTS_LOG2);
	sim_write(sim, NPU_REG_FAULT_BASE_LO, (uint32_t)sim->faults.dma);
	sim_write(sim, NPU_REG_FAULT_BASE_HI, (uint32_t)(sim->faults.dma >> 32));
	sim_write(sim, NPU_REG_FAULT_LOG2, SIM_FAULTS_LOG2);
	sim_write(sim, NPU_REG_IRQ_ENABLE, (1u << NPU_IRQ_COUNT) - 1);
}

int sim_events_init(struct sim *sim)
{
	int ret;

	ret = host_ring_init(sim, &sim->events, sizeof(struct npu_event) << SIM_EVENTS_LOG2);
	if (!ret)
		ret = host_ring_init(sim, &sim->faults,
				     sizeof(struct npu_fault) << SIM_FAULTS_LOG2);
	if (ret)
		return ret;
	ret = npurt_thread_start(&sim->interrupt_thread, interrupt_thread, sim,
				 "the device's interrupts");
	if (ret)
		return ret;
	sim->interrupt_thread_runs = true;
	sim_events_reset(sim);
	return 0;
}

void sim_events_fini(struct sim *sim)
{
	if (!sim->interrupt_thread_runs)
		return;
	__atomic_store_n(&sim->stop, 1, __ATOMIC_RELEASE);
	__atomic_fetch_or(&sim->interrupts, STOP_BIT, __ATOMIC_RELEASE);
	npurt_futex_wake(&sim->interrupts, INT_MAX);
	pthread_join(sim->interrupt_thread, NULL);
	sim->interrupt_thread_runs = false;
}
