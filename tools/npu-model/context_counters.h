/* SPDX-License-Identifier: MIT */
/*
 * What the tasks of a context have cost, kept in host memory. Manual: queues.rst, "Counters".
 */
#ifndef NPU_MODEL_CONTEXT_COUNTERS_H
#define NPU_MODEL_CONTEXT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "task.h"

struct npu_model;

struct npu_context_costs {
	bool valid;
	uint64_t address;		/* DMA address of struct npu_context_counters, 0: none */
	uint64_t mac, out, vector, dma, tasks;
};

/**
 * npu_context_counters_update() - a context table entry was read
 *
 * A context that becomes valid goes on from what is in memory; one that stays valid keeps its
 * counters; one that is no longer valid loses them.
 */
void npu_context_counters_update(struct npu_model *model, unsigned int context, bool valid,
				 uint64_t address);

/** npu_context_counters_add() - a task of the context has ended */
void npu_context_counters_add(struct npu_model *model, unsigned int context,
			      const struct npu_task_counters *task);

/** npu_context_counters_store() - write them back, as far as their memory is there */
void npu_context_counters_store(struct npu_model *model, unsigned int context);

#endif /* NPU_MODEL_CONTEXT_COUNTERS_H */
