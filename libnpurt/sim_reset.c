// SPDX-License-Identifier: MIT
/*
 * A `sim:` device that cannot be worked with any more is stopped at once, so that nobody's memory is
 * reached any more. The next context that is made has it reset; all contexts of before are lost.
 */
#include <errno.h>
#include <stdio.h>

#include "sim.h"

/* Under life_lock. */
static void stop(struct sim *sim, const char *why)
{
	snprintf(sim->why, sizeof(sim->why), "%s", why);
	__atomic_store_n(&sim->dead, 1, __ATOMIC_RELEASE);
	npurt_log_line(sim->base.log, NPURT_LOG_ERROR, "sim: the device is stopped: %s", why);
	sim_write(sim, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);

	/* Only now: whoever hears of it may use its memory for something else. */
	pthread_mutex_lock(&sim->event_lock);
	sim_lose_contexts(sim);
	pthread_mutex_unlock(&sim->event_lock);
	pthread_mutex_lock(&sim->reply_lock);
	pthread_cond_broadcast(&sim->reply_changed);
	pthread_mutex_unlock(&sim->reply_lock);
}

void sim_died(struct sim *sim, uint32_t generation, const char *why)
{
	pthread_mutex_lock(&sim->life_lock);
	if (!sim_is_dead(sim) && sim_generation(sim) == generation)
		stop(sim, why);
	pthread_mutex_unlock(&sim->life_lock);
}

/* A ping comes by the host's clock: in a replay it would come in another cycle, or not at all. */
static bool may_ping(const struct sim *sim)
{
	return !sim->records && !sim->replays;
}

void sim_check_life(struct sim *sim)
{
	uint32_t generation = sim_generation(sim);

	if (sim_is_dead(sim))
		return;
	if (may_ping(sim) && sim_ping(sim))
		sim_died(sim, generation, "its firmware does not answer");
	else
		sim_look(sim);
}

static int fail_gone(struct sim *sim)
{
	return npurt_fail(-ENODEV,
			  "sim: the device is dead (%s), and a reset does not help: close it and "
			  "open it again", sim->why);
}

int sim_fail_lost(struct sim_context *context)
{
	if (__atomic_load_n(&context->sim->gone, __ATOMIC_ACQUIRE))
		return fail_gone(context->sim);
	return npurt_fail(-EIO, "sim: the device was reset (%s)", context->why_lost);
}

/* Everything is as after power on, here as there. */
static void start_over(struct sim *sim)
{
	pthread_mutex_lock(&sim->handle_lock);
	pthread_mutex_lock(&sim->life_lock);
	__atomic_store_n(&sim->interrupts, 0, __ATOMIC_RELEASE);
	sim_mailbox_reset(sim);
	sim_contexts_reset(sim);
	sim_events_reset(sim);
	__atomic_add_fetch(&sim->generation, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&sim->dead, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&sim->life_lock);
	pthread_mutex_unlock(&sim->handle_lock);
}

int sim_revive(struct sim *sim)
{
	if (!sim_is_dead(sim))
		return 0;
	if (sim->gone)
		return fail_gone(sim);
	start_over(sim);
	if (sim_read(sim, NPU_REG_ID) == NPU_ID_VALUE && !sim_boot(sim)) {
		npurt_log_line(sim->base.log, NPURT_LOG_WARNING, "sim: the device was reset");
		return 0;
	}
	sim_died(sim, sim_generation(sim), "it does not start again");
	__atomic_store_n(&sim->gone, 1, __ATOMIC_RELEASE);
	return fail_gone(sim);
}

bool sim_is_lost(struct npurt_backend_context *base)
{
	struct sim_context *context = sim_context_of(base);

	return sim_context_is_lost(context) &&
	       !__atomic_load_n(&context->sim->gone, __ATOMIC_ACQUIRE);
}

void sim_why_lost(struct npurt_backend_context *base, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s", sim_context_of(base)->why_lost);
}
