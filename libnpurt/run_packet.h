/* SPDX-License-Identifier: MIT */
/*
 * What a run tells the device: its packet and its arguments, written straight to where the device
 * reads them. Inline, for it is most of what a submission does.
 */
#ifndef NPURT_RUN_PACKET_H
#define NPURT_RUN_PACKET_H

#include <stddef.h>

#include "objects.h"

/* What of a packet its place decides. */
struct npurt_run_place {
	uint32_t task_id;
	uint64_t arguments; /* where the device sees those of npurt_run_arguments() */
	uint64_t record; /* where it writes its record */
};

/** npurt_run_argument_count() - how many arguments its program takes */
static inline uint32_t npurt_run_argument_count(const struct npurt_run *run)
{
	return run->profile ? NPU_ARG_PROFILE + 1 : run->model->packet.argument_count;
}

/**
 * npurt_run_packet() - write the packet that runs it, without semaphores
 * @packet: all of it is written but for its header
 *
 * Return: the header.
 */
static inline __le32 npurt_run_packet(const struct npurt_run *run, uint64_t budget_cycles,
				      const struct npurt_run_place *place,
				      struct npu_packet_exec *packet)
{
	const size_t rest = offsetof(struct npu_packet_exec, budget);
	const struct npu_packet_exec *common = &run->model->packet;

	packet->task_id = htole32(place->task_id);
	packet->program = common->program;
	packet->arguments = htole64(place->arguments);
	packet->record = htole64(place->record);
	memcpy((char *)packet + rest, (const char *)common + rest, sizeof(*packet) - rest);
	packet->budget = htole32((uint32_t)((budget_cycles + 1023) / 1024));
	if (!run->profile)
		return common->header;
	packet->argument_count = (uint8_t)npurt_run_argument_count(run);
	return common->header | htole32(NPU_PACKET_HEADER(0, NPU_EXEC_PROFILE, 0));
}

/** npurt_run_late_arguments() - write those behind inputs and outputs */
void npurt_run_late_arguments(const struct npurt_run *run, __le64 *arguments);

/** npurt_run_arguments() - write them */
static inline void npurt_run_arguments(const struct npurt_run *run, __le64 *arguments)
{
	const struct npurt_model *model = run->model;
	const struct npurt_binding *uses = run->uses;
	uint32_t count = run->use_count, i;

	arguments[NPU_ARG_WEIGHTS] = model->weights;
	arguments[NPU_ARG_SCRATCH] = model->scratch;
	for (i = 0; i < count; i++)
		arguments[NPU_ARG_FIRST_IO + i] = htole64(uses[i].buffer->va + uses[i].offset);
	if (model->save || run->profile)
		npurt_run_late_arguments(run, arguments);
}

#endif /* NPURT_RUN_PACKET_H */
