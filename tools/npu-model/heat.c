// SPDX-License-Identifier: MIT
/* Energy and temperature. See heat.h. */
#include "heat.h"

#include <string.h>

#include "machine.h"

/* pJ at the nominal point; what they are multiplied with is the manual's. */
#define PJ_MAC		2u
#define PJ_OUT		4u
#define PJ_VECTOR	8u
#define PJ_LAYOUT	4u
#define PJ_DMA		4u
#define PJ_BURST	2048u
#define PJ_LEAK		256u

#define PJ_A_MICROJOULE	1000000u

/* Samples of a mean. */
#define WINDOW		64u

/* So many equal samples after another: nothing will change any more, the mean included. */
#define SETTLED		(2 * WINDOW)

static uint64_t array(const struct npu_config *config)
{
	return (uint64_t)config->mac_channels * config->mac_depth;
}

/* A cycle of work of an engine. */
static uint64_t engine_energy(const struct npu_config *config, unsigned int engine)
{
	switch (engine) {
	case NPU_ENGINE_DMA0:
	case NPU_ENGINE_DMA1:
		return PJ_DMA * config->dma_bytes;
	case NPU_ENGINE_MAC:
		return PJ_MAC * array(config);
	case NPU_ENGINE_OUT:
		return PJ_OUT * config->out_results;
	case NPU_ENGINE_VECTOR:
		return PJ_VECTOR * config->vector_bytes;
	case NPU_ENGINE_LAYOUT:
		return PJ_LAYOUT * config->layout_bytes;
	default:
		return 0;
	}
}

/* A cycle of a cluster's clock. */
static uint64_t clock_energy(const struct npu_config *config)
{
	return array(config) / 4;
}

/* A nominal cycle of nothing at all. */
static uint64_t leak(const struct npu_config *config)
{
	return PJ_LEAK + config->clusters * (array(config) / 8);
}

/* A cycle of everything at once. */
static uint64_t peak(const struct npu_config *config)
{
	uint64_t cluster = clock_energy(config);

	for (unsigned int i = NPU_ENGINE_MAC; i < NPU_ENGINE_COUNT; i++)
		cluster += engine_energy(config, i);
	return config->clusters * cluster +
	       (config->clusters * config->dma_channels + 1) *
		       engine_energy(config, NPU_ENGINE_DMA0) +
	       PJ_BURST * config->dram_bytes / NPU_BURST_BYTES + leak(config);
}

static void note(struct npu_model *model, unsigned int engine, uint64_t since)
{
	struct npu_heat *heat = &model->heat;

	if (since < heat->accounted)
		since = heat->accounted;
	heat->worked[engine] += model->now - since;
}

void npu_heat_worked(struct npu_model *model, unsigned int engine, uint64_t since)
{
	note(model, engine, since);
}

/* What has not ended yet, as far as it has come. */
static void note_unfinished(struct npu_model *model)
{
	const struct npu_slot *copy;
	uint64_t since;

	for (unsigned int i = 0; model->clock.tasks && i < model->config.clusters; i++) {
		if (!model->clusters[i].task)
			continue;
		for (unsigned int j = 0; j < NPU_ENGINE_COUNT; j++) {
			if (npu_engine_at_work(&model->clusters[i].engine[j], &since))
				note(model, j, since);
		}
	}
	if (model->command.copy_slot < 0)
		return;
	copy = &model->command.slot[model->command.copy_slot];
	if (copy->phase == NPU_PHASE_COPY)
		note(model, NPU_ENGINE_DMA0, copy->copy_work_start);
}

/*
 * Bytes are counted when what moved them ends, and a COPY's may be gigabytes: they took as long as DRAM
 * takes for them, so what is more than that is left to the samples that follow.
 */
static uint64_t take_bursts(struct npu_model *model, uint64_t cycles)
{
	struct npu_heat *heat = &model->heat;
	uint64_t bursts = model->counters.dram_read + model->counters.dram_write - heat->bursts;
	uint64_t most = cycles * model->config.dram_bytes / NPU_BURST_BYTES;

	if (bursts > most)
		bursts = most;
	heat->bursts += bursts;
	return bursts;
}

/* pJ at the nominal point, without what leaks. */
static uint64_t take_work(struct npu_model *model, uint64_t cycles)
{
	struct npu_heat *heat = &model->heat;
	uint64_t slept = npu_power_slept(model);
	uint64_t awake = model->config.clusters * cycles - (slept - heat->slept);
	uint64_t sum = awake * clock_energy(&model->config) +
		       take_bursts(model, cycles) * PJ_BURST;

	note_unfinished(model);
	for (unsigned int i = 0; i < NPU_ENGINE_COUNT; i++)
		sum += heat->worked[i] * engine_energy(&model->config, i);
	memset(heat->worked, 0, sizeof(heat->worked));
	heat->slept = slept;
	return sum;
}

static void add_energy(struct npu_heat *heat, uint64_t energy)
{
	heat->energy_rest += energy;
	heat->energy += heat->energy_rest / PJ_A_MICROJOULE;
	heat->energy_rest %= PJ_A_MICROJOULE;
}

void npu_heat_account(struct npu_model *model)
{
	struct npu_heat *heat = &model->heat;
	unsigned int point = npu_clock_point(&model->clock);
	uint64_t cycles = model->now - heat->accounted;
	uint64_t thirds = cycles * npu_clock_thirds(point);
	uint64_t energy = (3 * take_work(model, cycles) + leak(&model->config) * thirds) *
			  npu_clock_scale(point) / 3000;

	heat->accounted = model->now;
	model->clock.cycles[point] += cycles;
	heat->sample += energy;
	heat->thirds += thirds;
	add_energy(heat, energy);
}

uint32_t npu_heat_temperature(const struct npu_model *model)
{
	return model->config.ambient * 1000 + (uint32_t)(model->heat.rise / 1000);
}

/* Returns true when something happened. */
static bool check_thresholds(struct npu_model *model)
{
	struct npu_heat *heat = &model->heat;
	uint32_t temperature = npu_heat_temperature(model);

	if (temperature >= NPU_HEAT_TRIP) {
		npu_registers_trip(model);
		return true;
	}
	if (temperature <= NPU_HEAT_COOL)
		heat->hot = false;
	if (temperature < NPU_HEAT_HOT || heat->hot)
		return false;
	heat->hot = true;
	npu_registers_core_irq(model, NPU_CORE_IRQ_HEAT);
	return true;
}

static void add_to_window(struct npu_model *model)
{
	struct npu_heat *heat = &model->heat;

	heat->window.energy += heat->sample;
	heat->window.thirds += heat->thirds;
	if (++heat->window.samples < WINDOW)
		return;
	/* pJ in a nominal cycle times MHz are microwatts. */
	heat->milliwatts = (uint32_t)(heat->window.energy * 3 *
				      (model->config.clock_hz / 1000000) /
				      (heat->window.thirds * 1000));
	memset(&heat->window, 0, sizeof(heat->window));
}

/* Returns true when something happened. */
static bool take_sample(struct npu_model *model)
{
	const struct npu_config *config = &model->config;
	struct npu_heat *heat = &model->heat;
	uint64_t slowness = config->heat_cycles;

	npu_heat_account(model);
	heat->rise -= heat->rise * heat->thirds / (3 * slowness);
	heat->rise += config->heat_rise * 1000000ull * heat->sample / (peak(config) * slowness);
	add_to_window(model);
	heat->last = heat->sample;
	heat->sample = 0;
	heat->thirds = 0;
	heat->next += NPU_HEAT_SAMPLE;
	return check_thresholds(model);
}

/* Samples that are all like the last one; whole means, as far as @time goes. */
static void leap(struct npu_model *model, uint64_t time)
{
	struct npu_heat *heat = &model->heat;
	uint64_t samples = (time - model->now) / NPU_HEAT_SAMPLE / WINDOW * WINDOW;
	uint64_t cycles = samples * NPU_HEAT_SAMPLE;

	model->now += cycles;
	model->clock.cycles[npu_clock_point(&model->clock)] += cycles;
	heat->next += cycles;
	heat->accounted += cycles;
	heat->slept = npu_power_slept(model);
	heat->energy += samples / PJ_A_MICROJOULE * heat->last;
	add_energy(heat, samples % PJ_A_MICROJOULE * heat->last);
}

bool npu_heat_due(const struct npu_model *model, uint64_t time)
{
	return model->heat.next <= time && !npu_model_stands_still(model);
}

void npu_heat_pass(struct npu_model *model, uint64_t time)
{
	struct npu_heat *heat = &model->heat;
	unsigned int equal = 0;

	while (npu_heat_due(model, time)) {
		uint64_t rise = heat->rise;

		/* An instruction of the control core may have lasted beyond it. */
		if (model->now < heat->next)
			model->now = heat->next;
		if (take_sample(model))
			return;
		equal = heat->rise == rise ? equal + 1 : 0;
		if (equal >= SETTLED)
			leap(model, time);
	}
}

void npu_heat_start(struct npu_model *model)
{
	model->heat.rise = 0;
	model->heat.sample = 0;
	model->heat.thirds = 0;
}

void npu_heat_reset(struct npu_model *model, bool tripped)
{
	struct npu_heat *heat = &model->heat;

	*heat = (struct npu_heat){
		.next = model->now - model->now % NPU_HEAT_SAMPLE + NPU_HEAT_SAMPLE,
		.accounted = model->now,
		.sample = tripped ? 0 : heat->sample,
		.thirds = tripped ? 0 : heat->thirds,
		.rise = tripped ? 0 : heat->rise,
	};
	memset(&model->clock, 0, sizeof(model->clock));
}
