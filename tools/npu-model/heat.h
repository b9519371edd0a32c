/* SPDX-License-Identifier: MIT */
/*
 * Energy and temperature. Manual: clock-and-heat.rst.
 *
 * Samples are no events of the queue: they keep nobody from being idle. npu_model_run() and
 * npu_model_skip() take those that are due before time goes on.
 */
#ifndef NPU_MODEL_HEAT_H
#define NPU_MODEL_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "npu/npu_isa.h"

struct npu_model;

/* Thousandths of a degree Celsius. */
#define NPU_HEAT_COOL	85000u
#define NPU_HEAT_HOT	95000u
#define NPU_HEAT_TRIP	110000u

/* Cycles. */
#define NPU_HEAT_SAMPLE	16384u

/**
 * struct npu_heat - energy not yet turned into temperature, and temperature
 * @next:	cycle of the next sample
 * @accounted:	cycle until which energy is accounted for
 * @worked:	cycles of each engine's finished work since then, summed over clusters
 * @bursts:	of DRAM, by then
 * @slept:	cycles of clusters asleep, by then
 * @sample:	pJ since the last sample
 * @last:	pJ of the last sample
 * @thirds:	of a nominal cycle since the last sample
 * @rise:	millionths of a kelvin over the air
 * @hot:	it was at NPU_HEAT_HOT, and not at NPU_HEAT_COOL since
 * @window:	samples of the mean that is being made, their energy and thirds
 * @milliwatts:	of the last one made
 * @energy:	microjoules since reset, and pJ that are less than one
 */
struct npu_heat {
	uint64_t next;
	uint64_t accounted;
	uint64_t worked[NPU_ENGINE_COUNT];
	uint64_t bursts, slept;
	uint64_t sample, last, thirds;
	uint64_t rise;
	bool hot;
	struct {
		unsigned int samples;
		uint64_t energy, thirds;
	} window;
	uint32_t milliwatts;
	uint64_t energy, energy_rest;
};

/** npu_heat_start() - power on, after the reset: at the air's temperature */
void npu_heat_start(struct npu_model *model);

/** npu_heat_reset() - the device was reset; @tripped: it had tripped, and has cooled down */
void npu_heat_reset(struct npu_model *model, bool tripped);

/**
 * npu_heat_worked() - work of an engine is over, or ended
 * @engine:	enum npu_engine; NPU_ENGINE_DMA0 also for COPY
 * @since:	when it began
 */
void npu_heat_worked(struct npu_model *model, unsigned int engine, uint64_t since);

/** npu_heat_account() - account for the energy until now; before the point changes */
void npu_heat_account(struct npu_model *model);

/** npu_heat_due() - whether samples are to be taken before time is @time */
bool npu_heat_due(const struct npu_model *model, uint64_t time);

/**
 * npu_heat_pass() - let time pass until @time, or until a sample made something happen
 *
 * Nothing else may happen before. Turns: at most as many as the temperature needs to settle.
 */
void npu_heat_pass(struct npu_model *model, uint64_t time);

/** npu_heat_temperature() - NPU_REG_TEMPERATURE */
uint32_t npu_heat_temperature(const struct npu_model *model);

#endif /* NPU_MODEL_HEAT_H */
