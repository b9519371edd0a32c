// SPDX-License-Identifier: MIT
/* The device as a whole. See npu_model.h. */
#include "npu_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* One call of npu_model_run() ends, whatever the firmware does. */
#define RUN_CYCLES_MAX	(1ull << 32)

static void set_error(char *error, size_t size, const char *text)
{
	if (error && size)
		snprintf(error, size, "%s", text);
}

static int allocate(struct npu_model *model)
{
	size_t pieces = (model->config.global_bytes + NPU_OWNER_BYTES - 1) / NPU_OWNER_BYTES;

	model->global = calloc(pieces, NPU_OWNER_BYTES);
	model->global_owner = calloc(pieces, 1);
	if (!model->global || !model->global_owner || npu_core_init(model))
		return -1;
	for (unsigned int i = 0; i < model->config.clusters; i++) {
		if (npu_cluster_init(&model->clusters[i], &model->config, i))
			return -1;
	}
	return 0;
}

struct npu_model *npu_model_create(const char *config, const struct npu_model_host_ops *ops,
				   void *host, char *error, size_t error_size)
{
	struct npu_model *model = calloc(1, sizeof(*model));
	char reason[256], rest[512];

	if (!model) {
		set_error(error, error_size, "npu-model: not enough memory for a device");
		return NULL;
	}
	if (!config || !*config)
		config = npu_config_name(0);
	if (npu_fault_script_take(config, rest, sizeof(rest), &model->injection.script, reason,
				  sizeof(reason)) ||
	    npu_config_parse(rest, &model->config, reason, sizeof(reason))) {
		set_error(error, error_size, reason);
		free(model);
		return NULL;
	}
	model->ops = *ops;
	model->host = host;
	if (allocate(model)) {
		set_error(error, error_size,
			  "npu-model: not enough memory for the device's SRAM; make it smaller");
		npu_model_destroy(model);
		return NULL;
	}
	npu_injection_start(&model->injection);
	npu_bandwidth_init(&model->bandwidth, &model->config);
	npu_mmu_init(&model->mmu, &model->config);
	npu_semaphores_init(&model->semaphores);
	npu_command_init(model);
	npu_registers_reset(model);
	npu_core_reset(model);
	npu_heat_reset(model, false);
	return model;
}

void npu_model_destroy(struct npu_model *model)
{
	if (!model)
		return;
	npu_arrivals_release(model);
	for (unsigned int i = 0; i < NPU_CONFIG_CLUSTERS_MAX; i++)
		npu_cluster_release(&model->clusters[i]);
	npu_core_release(model);
	free(model->global);
	free(model->global_owner);
	free(model);
}

/* Memories are cleared: nothing survives a reset that a later context could read. */
static void clear_memories(struct npu_model *model)
{
	size_t pieces = (model->config.global_bytes + NPU_OWNER_BYTES - 1) / NPU_OWNER_BYTES;

	memset(model->global, 0, pieces * NPU_OWNER_BYTES);
	memset(model->global_owner, 0, pieces);
	for (unsigned int i = 0; i < model->config.clusters; i++) {
		struct npu_cluster *cluster = &model->clusters[i];

		memset(cluster->memory.local, 0, model->config.local_bytes);
		memset(cluster->memory.acc[0], 0, model->config.acc_bytes / 2);
		memset(cluster->memory.acc[1], 0, model->config.acc_bytes / 2);
		memset(&cluster->residue, 0, sizeof(cluster->residue));
	}
}

void npu_model_power_cycle(struct npu_model *model)
{
	npu_injection_start(&model->injection);
	npu_model_reset(model);
	npu_heat_start(model);
}

void npu_model_reset(struct npu_model *model)
{
	bool tripped = model->injection.tripped;

	npu_heat_account(model);
	npu_injection_reset(&model->injection);
	npu_command_reset(model);
	npu_mmu_init(&model->mmu, &model->config);
	npu_semaphores_init(&model->semaphores);
	memset(model->costs, 0, sizeof(model->costs));
	npu_registers_reset(model);
	npu_core_reset(model);
	memset(&model->counters, 0, sizeof(model->counters));
	memset(&model->power, 0, sizeof(model->power));
	npu_heat_reset(model, tripped);
	clear_memories(model);
}

void npu_model_doorbell(struct npu_model *model, unsigned int queue, uint32_t offset,
			uint64_t value, unsigned int size)
{
	if (queue >= model->config.queues || model->injection.dead)
		return;
	if (offset == NPU_DOORBELL_RING) {
		if (npu_arrival_door(model, NPU_ARRIVAL_RING, queue, 0))
			npu_command_doorbell(model, queue);
	} else if (offset == NPU_DOORBELL_SIGNAL && size == 8) {
		if (npu_arrival_door(model, NPU_ARRIVAL_SIGNAL, queue, value))
			npu_command_signal(model, queue, value);
	}
}

/* The control core's timer alone is no reason for time to pass. */
bool npu_model_idle(const struct npu_model *model)
{
	uint32_t timer = npu_event_pending(&model->core.timer);

	if (npu_model_stands_still(model))
		return !npu_arrivals_due(model);
	return model->events.count == timer && !npu_core_running(model);
}

static bool core_is_next(uint64_t core_time, const struct npu_alarm *event)
{
	if (core_time == UINT64_MAX)
		return false;
	if (!event || core_time < event->time)
		return true;
	return core_time == event->time && NPU_RANK_CORE < event->rank;
}

/* Cycle at which the core's instructions must not begin, because of @event or @limit. */
static uint64_t core_until(const struct npu_model *model, const struct npu_alarm *event,
			   uint64_t limit)
{
	uint64_t until;

	if (model->heat.next < limit)
		limit = model->heat.next;
	if (!event)
		return limit;
	until = event->time + (event->rank > NPU_RANK_CORE);
	return until < limit ? until : limit;
}

/* Whether what arrives now comes in its place among the events of this cycle. */
static bool may_arrive(const struct npu_model *model)
{
	const struct npu_alarm *next = npu_event_first(&model->events);

	return !next || next->time > model->now || next->rank >= NPU_RANK_ARRIVAL;
}

bool npu_model_run(struct npu_model *model, uint64_t max_cycles)
{
	uint64_t limit;

	if (max_cycles > RUN_CYCLES_MAX)
		max_cycles = RUN_CYCLES_MAX;
	limit = model->now + max_cycles;
	npu_arrivals_look_again(model);
	while (!npu_arrivals_wait(&model->arrivals) && !npu_model_idle(model)) {
		struct npu_alarm *event = npu_event_first(&model->events);
		uint64_t core_time = npu_core_time(model);
		bool core = core_is_next(core_time, event);
		uint64_t next;

		if (npu_model_stands_still(model)) {
			npu_arrivals_take(model);
			continue;
		}
		next = core ? core_time : event->time;
		if (npu_heat_due(model, next < limit ? next : limit)) {
			npu_heat_pass(model, next < limit ? next : limit);
			continue;
		}
		if (core ? core_time >= limit : event->time > limit) {
			/* An instruction may have lasted beyond it. */
			if (model->now < limit)
				model->now = limit;
			return false;
		}
		if (core) {
			npu_core_run(model, core_until(model, event, limit));
			continue;
		}
		npu_event_pop(&model->events);
		model->now = event->time;
		event->handle(model, event);
		/* One operation may take this program long: whoever waits need not wait for two. */
		if (model->yield && __atomic_load_n(model->yield, __ATOMIC_RELAXED) &&
		    may_arrive(model))
			break;
	}
	/* The core's last instruction may have lasted until after a sample. */
	npu_heat_pass(model, model->now);
	return !npu_arrivals_wait(&model->arrivals) && npu_model_idle(model);
}

uint64_t npu_model_time(const struct npu_model *model)
{
	return model->now;
}

uint64_t npu_model_timer(const struct npu_model *model)
{
	return npu_model_stands_still(model) ? UINT64_MAX : npu_core_timer(model);
}

void npu_model_skip(struct npu_model *model, uint64_t cycles)
{
	uint64_t timer = npu_core_timer(model);
	uint64_t until;

	if (!npu_model_idle(model) || npu_model_stands_still(model))
		return;
	until = model->now + (cycles < timer ? cycles : timer);
	npu_heat_pass(model, until);
	/* A sample may have woken the core, or tripped the device. */
	if (!npu_model_idle(model) || npu_model_stands_still(model))
		return;
	model->now = until;
	if (timer != UINT64_MAX)
		npu_core_update(model);
}

uint32_t npu_model_irq_pending(const struct npu_model *model)
{
	if (model->injection.dead)
		return 0;
	return model->registers.irq_status & model->registers.irq_enable;
}

void npu_model_memory_changed(struct npu_model *model)
{
	npu_mmu_forget_pointers(&model->mmu);
}

uint32_t npu_model_clock_hz(const struct npu_model *model)
{
	return model->config.clock_hz;
}

uint32_t npu_model_clock_now(const struct npu_model *model)
{
	return npu_clock_point_hz(&model->config, npu_clock_point(&model->clock));
}
