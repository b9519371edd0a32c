/* SPDX-License-Identifier: MIT */
/*
 * Points of the clock: how long a cycle takes. Nothing in the model's time depends on them, only
 * heat does. Manual: clock-and-heat.rst.
 */
#ifndef NPU_MODEL_CLOCK_H
#define NPU_MODEL_CLOCK_H

#include <stdint.h>

#include "config.h"

struct npu_model;

#define NPU_CLOCK_POINTS	4

/**
 * struct npu_clock - what the control core asked for, and what became of it
 * @work:	point while a task is on clusters
 * @rest:	point while none is
 * @tasks:	that are on clusters
 * @cycles:	at each point since reset, as far as heat is accounted for
 */
struct npu_clock {
	uint8_t work, rest;
	uint32_t tasks;
	uint64_t cycles[NPU_CLOCK_POINTS];
};

/** npu_clock_point() - the point in force */
unsigned int npu_clock_point(const struct npu_clock *clock);

/** npu_clock_thirds() - thirds of a nominal cycle that a cycle takes at a point */
uint32_t npu_clock_thirds(unsigned int point);

/** npu_clock_scale() - energy of the same work at a point, in thousandths of the nominal one */
uint32_t npu_clock_scale(unsigned int point);

/** npu_clock_point_hz() - cycles a second at a point; 0 when there is no such point */
uint32_t npu_clock_point_hz(const struct npu_config *config, uint32_t point);

/** npu_clock_register() - NPU_REG_CLOCK */
uint32_t npu_clock_register(const struct npu_clock *clock);

/** npu_clock_set() - NPU_REG_CORE_CLOCK; without effect when it names a point that is not there */
void npu_clock_set(struct npu_model *model, uint32_t value);

/** npu_clock_task_on() - a task starts or comes back */
void npu_clock_task_on(struct npu_model *model);

/** npu_clock_task_off() - it leaves its clusters, for whatever reason */
void npu_clock_task_off(struct npu_model *model);

/** npu_clock_counter() - NPU_REG_COUNTER_POINT */
uint64_t npu_clock_counter(const struct npu_model *model, unsigned int point);

#endif /* NPU_MODEL_CLOCK_H */
