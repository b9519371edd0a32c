/* SPDX-License-Identifier: MIT */
/*
 * Whose data is in SRAM and accumulators, and their removal before another context's task starts.
 * Manual: command-processor.rst, "Scrubbing"; timing.rst.
 */
#ifndef NPU_MODEL_SCRUB_H
#define NPU_MODEL_SCRUB_H

#include <stdint.h>

struct npu_cluster;
struct npu_model;
struct npu_operation;
struct npu_point_range;
struct npu_task;

/* Marks of owners: a context's number plus one, or one of these. */
#define NPU_OWNER_CLEAN		0u
#define NPU_OWNER_GONE		0xffu	/* a context that is no more, whatever its number is now */

static inline uint8_t npu_owner_mark(unsigned int context)
{
	return (uint8_t)(context + 1);
}

/**
 * struct npu_residue - what a cluster's owner may have left in it
 * @owner:	mark of the context whose tasks wrote there
 * @halves:	accumulator halves written, a bit each
 * @local_end:	bytes of local SRAM from 0 to the end of the highest one written
 */
struct npu_residue {
	uint8_t owner;
	uint8_t halves;
	uint32_t local_end;
};

/** npu_scrub_touch() - an instruction was decoded: what it names as its destination is used */
void npu_scrub_touch(struct npu_model *model, struct npu_cluster *cluster,
		     const struct npu_operation *operation);

/**
 * npu_scrub() - remove what other contexts left on a task's clusters and in its window
 *
 * The clusters are the task's context's from then on. Returns the cycles it takes; 0 when
 * everything was the context's own or clean already.
 */
uint64_t npu_scrub(struct npu_model *model, const struct npu_task *task);

/** npu_scrub_restored() - a preempted task's range was brought back to a cluster of its gang */
void npu_scrub_restored(struct npu_model *model, const struct npu_task *task, unsigned int cluster,
			const struct npu_point_range *range);

/** npu_scrub_forget() - a context's number begins a new life: what it left is a stranger's */
void npu_scrub_forget(struct npu_model *model, unsigned int context);

#endif /* NPU_MODEL_SCRUB_H */
