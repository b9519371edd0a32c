// SPDX-License-Identifier: MIT
/*
 * A `sim:` device that cannot be worked with any more: it is stopped at once, so that memory can be
 * reused, and started again by the first context that wants to go on.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include "sim.h"

#define RESETS_IN_VAIN_MAX 8

void sim_died(struct sim *sim, const char *why)
{
	uint32_t alive = 0;

	pthread_mutex_lock(&sim->event_lock);
	if (!sim_is_dead(sim))
		snprintf(sim->why, sizeof(sim->why), "%s", why);
	pthread_mutex_unlock(&sim->event_lock);
	if (!__atomic_compare_exchange_n(&sim->dead, &alive, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	npurt_log_line(sim->base.log, NPURT_LOG_ERROR, "sim: the device is stopped: %s", why);
	sim_write(sim, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	sim_wake_all(sim);
	pthread_mutex_lock(&sim->reply_lock);
	pthread_cond_broadcast(&sim->reply_changed);
	pthread_mutex_unlock(&sim->reply_lock);
}

void sim_heartbeat(struct sim *sim)
{
	if (sim_is_dead(sim))
		return;
	if (sim_read(sim, NPU_REG_ID) != NPU_ID_VALUE)
		sim_died(sim, "it does not answer");
	else if (sim_ping(sim))
		sim_died(sim, "its firmware does not answer");
	else
		sim_look(sim);
}

void sim_why(struct sim *sim, char *text, size_t bytes)
{
	pthread_mutex_lock(&sim->event_lock);
	snprintf(text, bytes, "%s", sim->why);
	pthread_mutex_unlock(&sim->event_lock);
}

int sim_fail_dead(struct sim *sim)
{
	char why[sizeof(sim->why)];

	sim_why(sim, why, sizeof(why));
	if (__atomic_load_n(&sim->gone, __ATOMIC_ACQUIRE))
		return npurt_fail(-ENODEV,
				  "sim: the device is dead (%s), and a reset did not help: close "
				  "it and open it again",
				  why);
	return npurt_fail(-ESTALE, "the device was reset (%s)", why);
}

/* What the device knows after a reset: nothing. */
static int start(struct sim *sim)
{
	if (sim_read(sim, NPU_REG_ID) != NPU_ID_VALUE)
		return npurt_fail(-ENODEV, "sim: the device does not answer");
	__atomic_add_fetch(&sim->generation, 1, __ATOMIC_ACQ_REL);
	pthread_mutex_lock(&sim->reply_lock);
	sim->ping = 0;
	sim->reply_there = false;
	pthread_mutex_unlock(&sim->reply_lock);
	__atomic_store_n(&sim->dead, 0, __ATOMIC_RELEASE);
	sim_contexts_start(sim);
	sim_events_start(sim);
	return sim_boot(sim);
}

int sim_make_alive(struct sim *sim)
{
	if (!sim_is_dead(sim))
		return 0;
	if (!sim->gone && !start(sim)) {
		npurt_log_line(sim->base.log, NPURT_LOG_WARNING, "sim: the device was reset");
		return 0;
	}
	__atomic_store_n(&sim->gone, 1, __ATOMIC_RELEASE);
	sim_died(sim, "it does not start again");
	return sim_fail_dead(sim);
}

bool sim_try_again(struct sim *sim)
{
	if (!sim_is_dead(sim) || sim->gone)
		return false;
	/* The last rung: who dies each time somebody speaks to it is not worth another reset. */
	if (++sim->resets_in_vain < RESETS_IN_VAIN_MAX)
		return true;
	__atomic_store_n(&sim->gone, 1, __ATOMIC_RELEASE);
	sim_fail_dead(sim);
	return false;
}

bool sim_is_stale(struct npurt_backend_context *base)
{
	struct sim_context *context = sim_context_of(base);

	return sim_is_dead(context->sim) ||
	       __atomic_load_n(&context->generation, __ATOMIC_ACQUIRE) !=
		       __atomic_load_n(&context->sim->generation, __ATOMIC_ACQUIRE);
}

/* The device takes its semaphores from there when it hears of the context. */
static void set_semaphore(struct sim_context *context, uint32_t semaphore, uint64_t value)
{
	uint64_t *values = sim_pointer(context->sim, context->semaphores_dma);

	__atomic_store_n(&values[semaphore], htole64(value), __ATOMIC_RELEASE);
}

int sim_recover(struct npurt_backend_queue *base, uint32_t semaphore, uint64_t index)
{
	struct sim_context *context = sim_context_of(base->context);
	struct sim *sim = context->sim;
	uint64_t before;
	int ret;

	pthread_mutex_lock(&sim->context_lock);
	before = le64toh(__atomic_load_n(&context->base.semaphores[semaphore], __ATOMIC_ACQUIRE));
	set_semaphore(context, semaphore, index);
	__atomic_store_n(&context->stopped, 0, __ATOMIC_RELEASE);
	do {
		ret = sim_make_alive(sim);
		if (!ret)
			ret = sim_context_announce(context);
		if (!ret)
			ret = sim_queue_announce((struct sim_queue *)base, index);
	} while (ret && sim_try_again(sim));
	if (!ret)
		sim_rearm(context);
	else
		set_semaphore(context, semaphore, before);
	pthread_mutex_unlock(&sim->context_lock);
	return ret;
}
