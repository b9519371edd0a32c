// SPDX-License-Identifier: MIT
/* Costs of contexts. See context_counters.h. */
#include "context_counters.h"

#include <string.h>

#include "machine.h"
#include "memory.h"

#define ALIGNMENT	((uint64_t)sizeof(struct npu_context_counters))

static void load(struct npu_model *model, struct npu_context_costs *costs)
{
	const struct npu_context_counters *from = NULL;

	if (costs->address)
		from = npu_host_pointer(model, costs->address, false);
	if (!from)
		return;
	costs->mac = le64toh(from->mac_cycles);
	costs->out = le64toh(from->out_cycles);
	costs->vector = le64toh(from->vector_cycles);
	costs->dma = le64toh(from->dma_cycles);
	costs->tasks = le64toh(from->tasks);
}

void npu_context_counters_update(struct npu_model *model, unsigned int context, bool valid,
				 uint64_t address)
{
	struct npu_context_costs *costs = &model->costs[context];
	bool was_valid = costs->valid;

	if (!valid || !was_valid)
		memset(costs, 0, sizeof(*costs));
	costs->valid = valid;
	if (!valid)
		return;
	costs->address = address & ~(ALIGNMENT - 1);
	if (!was_valid)
		load(model, costs);
}

void npu_context_counters_add(struct npu_model *model, unsigned int context,
			      const struct npu_task_counters *task)
{
	struct npu_context_costs *costs = &model->costs[context];

	costs->mac += task->mac_cycles;
	costs->out += task->out_cycles;
	costs->vector += task->vector_cycles;
	costs->dma += task->dma_cycles;
	costs->tasks++;
}

void npu_context_counters_store(struct npu_model *model, unsigned int context)
{
	const struct npu_context_costs *costs = &model->costs[context];
	struct npu_context_counters *to = NULL;

	if (costs->address)
		to = npu_host_pointer(model, costs->address, true);
	if (!to)
		return;
	npu_store64(&to->mac_cycles, costs->mac, __ATOMIC_RELEASE);
	npu_store64(&to->out_cycles, costs->out, __ATOMIC_RELEASE);
	npu_store64(&to->vector_cycles, costs->vector, __ATOMIC_RELEASE);
	npu_store64(&to->dma_cycles, costs->dma, __ATOMIC_RELEASE);
	npu_store64(&to->tasks, costs->tasks, __ATOMIC_RELEASE);
}
