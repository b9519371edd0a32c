/* SPDX-License-Identifier: MIT */
/*
 * Semaphores and watches. Manual: queues.rst, "Semaphores" and "Watches".
 */
#ifndef NPU_MODEL_SEMAPHORE_H
#define NPU_MODEL_SEMAPHORE_H

#include <stdbool.h>
#include <stdint.h>

#include "mmu.h"

struct npu_model;

#define NPU_SEMAPHORES_MAX	512

struct npu_semaphore_context {
	bool valid;
	uint64_t area;			/* DMA address of the values in host memory */
	uint64_t thresholds;		/* DMA address of the watches' thresholds */
	uint64_t value[NPU_SEMAPHORES_MAX];
	uint64_t threshold[NPU_SEMAPHORES_MAX];
	uint64_t armed[NPU_SEMAPHORES_MAX / 64];
	uint64_t fired[NPU_SEMAPHORES_MAX / 64];	/* event still to be written, ring full */
};

struct npu_semaphores {
	struct npu_semaphore_context context[NPU_CONTEXTS_MAX];
	uint64_t fired_contexts;	/* those with a bit in `fired` */
};

/** npu_semaphores_init() - no context has any */
void npu_semaphores_init(struct npu_semaphores *semaphores);

/**
 * npu_semaphore_context_update() - a context table entry was read
 *
 * A context that becomes valid takes its values from the area: zero, or what they were before a
 * suspend. One that stays valid keeps its values. One that is no longer valid loses everything.
 */
void npu_semaphore_context_update(struct npu_model *model, unsigned int context, bool valid,
				  uint64_t area, uint64_t thresholds);

/**
 * npu_semaphore_add() - raise a value, write it back, fire watches, let waiting queues look again
 *
 * The value saturates. What does not exist is ignored.
 */
void npu_semaphore_add(struct npu_model *model, unsigned int context, unsigned int semaphore,
		       uint64_t amount);

/** npu_semaphore_arm() - NPU_REG_WATCH_ARM was written */
void npu_semaphore_arm(struct npu_model *model, unsigned int context, unsigned int semaphore);

/** npu_semaphore_retry_events() - the event ring has room again */
void npu_semaphore_retry_events(struct npu_model *model);

/** npu_semaphore_value() - the value; 0 for what does not exist */
uint64_t npu_semaphore_value(const struct npu_model *model, unsigned int context,
			     unsigned int semaphore);

#endif /* NPU_MODEL_SEMAPHORE_H */
