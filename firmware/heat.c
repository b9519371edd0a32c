// SPDX-License-Identifier: MIT
/*
 * Points of the clock. A faster point has a lower number. No loops.
 */
#include "heat.h"
#include "hw.h"
#include "log.h"
#include "npu/npu_mailbox.h"
#include "power.h"

/* Between two looks, in cycles: short against the time in which the device warms up. */
#define LOOK	1000000u

static u32 fastest, slowest;
static u32 demand;
static u32 times;
static u64 due;

static u32 slower(u32 one, u32 other)
{
	return one > other ? one : other;
}

/* The one the device works at. */
static u32 work_point(void)
{
	return slower(fastest, demand);
}

static u32 last_point(void)
{
	return hw_read(NPU_REG_CLOCK_POINTS) - 1;
}

static void set_clock(void)
{
	u32 work = work_point();

	hw_write(NPU_REG_CORE_CLOCK, work | slower(slowest, work) << NPU_CLOCK_REST_SHIFT);
}

/* Thousandths of a degree, signed. */
static s32 read_temperature(u32 offset)
{
	return (s32)hw_read(offset);
}

static u32 degrees(s32 temperature)
{
	return temperature < 0 ? 0 : (u32)temperature / 1000;
}

static void go_slower(void)
{
	if (work_point() < last_point())
		demand = work_point() + 1;
	else
		demand = last_point();
	set_clock();
}

/* The host's own limit may be as slow. */
static void go_faster(s32 temperature)
{
	demand--;
	if (demand <= fastest) {
		demand = 0;
		power_active &= ~POWER_HEAT;
		log_write(LOG_INFO, "%u C: heat slows the clock down no more", degrees(temperature),
			  0, 0);
	}
	set_clock();
}

void heat_begin(u64 now)
{
	if (power_active & POWER_HEAT || hw_read(NPU_REG_CLOCK_POINTS) < 2)
		return;
	due = now + LOOK;
	power_active |= POWER_HEAT;
	times++;
	go_slower();
	log_write(LOG_WARNING, "%u C: heat slows the clock down, to point %u",
		  degrees(read_temperature(NPU_REG_TEMPERATURE)), demand, 0);
}

u64 heat_run(u64 now)
{
	s32 temperature;

	if (now < due)
		return due;
	due = now + LOOK;
	temperature = read_temperature(NPU_REG_TEMPERATURE);
	if (temperature >= read_temperature(NPU_REG_HEAT_HOT))
		go_slower();
	else if (temperature <= read_temperature(NPU_REG_HEAT_COOL))
		go_faster(temperature);
	return power_active & POWER_HEAT ? due : NEVER;
}

static bool there(u32 point)
{
	return point < hw_read(NPU_REG_CLOCK_POINTS);
}

static enum npu_error set_limits(u32 fast, u32 slow)
{
	if (!there(fast) || !there(slow))
		return NPU_ERROR_NOT_FOUND;
	if (slow < fast)
		return NPU_ERROR_BAD_ARGUMENT;
	fastest = fast;
	slowest = slow;
	set_clock();
	return NPU_ERROR_NONE;
}

enum npu_error heat_limits(u32 fast, u32 slow, struct heat_state *state)
{
	enum npu_error error = NPU_ERROR_NONE;

	if (fast != NPU_CLOCK_ASK)
		error = set_limits(fast, slow);
	else if (slow)
		error = NPU_ERROR_BAD_ARGUMENT;
	if (error)
		return error;
	*state = (struct heat_state){
		.fastest = fastest,
		.slowest = slowest,
		.demand = demand,
		.times = times,
	};
	return NPU_ERROR_NONE;
}
