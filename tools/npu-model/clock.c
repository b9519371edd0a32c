// SPDX-License-Identifier: MIT
/* Points of the clock. See clock.h. */
#include "clock.h"

#include "machine.h"

static const struct {
	uint32_t thirds;		/* of a nominal cycle in a cycle */
	uint32_t scale;			/* thousandths of the nominal energy */
} points[NPU_CLOCK_POINTS] = {
	{ 3, 1000 },
	{ 4, 810 },
	{ 6, 640 },
	{ 12, 490 },
};

unsigned int npu_clock_point(const struct npu_clock *clock)
{
	return clock->tasks ? clock->work : clock->rest;
}

uint32_t npu_clock_thirds(unsigned int point)
{
	return points[point].thirds;
}

uint32_t npu_clock_scale(unsigned int point)
{
	return points[point].scale;
}

uint32_t npu_clock_point_hz(const struct npu_config *config, uint32_t point)
{
	if (point >= NPU_CLOCK_POINTS)
		return 0;
	return (uint32_t)(config->clock_hz * 3ull / points[point].thirds);
}

uint32_t npu_clock_register(const struct npu_clock *clock)
{
	return clock->work | (uint32_t)clock->rest << NPU_CLOCK_REST_SHIFT |
	       npu_clock_point(clock) << NPU_CLOCK_NOW_SHIFT;
}

void npu_clock_set(struct npu_model *model, uint32_t value)
{
	uint32_t work = value & 0xff;
	uint32_t rest = value >> NPU_CLOCK_REST_SHIFT & 0xff;

	if (work >= NPU_CLOCK_POINTS || rest >= NPU_CLOCK_POINTS)
		return;
	npu_heat_account(model);
	model->clock.work = (uint8_t)work;
	model->clock.rest = (uint8_t)rest;
}

/* Most devices rest at the point they work at: then there is nothing to account for. */
static void before_change(struct npu_model *model)
{
	if (model->clock.work != model->clock.rest)
		npu_heat_account(model);
}

void npu_clock_task_on(struct npu_model *model)
{
	if (!model->clock.tasks)
		before_change(model);
	model->clock.tasks++;
}

void npu_clock_task_off(struct npu_model *model)
{
	if (model->clock.tasks == 1)
		before_change(model);
	model->clock.tasks--;
}

uint64_t npu_clock_counter(const struct npu_model *model, unsigned int point)
{
	uint64_t cycles = model->clock.cycles[point];

	if (point == npu_clock_point(&model->clock))
		cycles += model->now - model->heat.accounted;
	return cycles;
}
