/* SPDX-License-Identifier: MIT */
/*
 * A task: one EXEC packet's program running on a gang of clusters.
 */
#ifndef NPU_MODEL_TASK_H
#define NPU_MODEL_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "event.h"
#include "npu/npu_isa.h"
#include "npu/npu_packet.h"

struct npu_model;

/* What a completion record counts. */
struct npu_task_counters {
	uint64_t mac_cycles, out_cycles, vector_cycles, dma_cycles;
	uint64_t dram_read, dram_write;	/* bursts */
	uint64_t stall_token, stall_memory;
};

/* How and why something ended. */
struct npu_outcome {
	uint16_t status;		/* enum npu_status */
	uint16_t error;			/* enum npu_error */
	uint64_t detail;		/* struct npu_record */
};

/* A fault of a task, for the fault queue and the record. */
struct npu_task_fault {
	uint32_t error;			/* enum npu_error */
	uint32_t access;		/* struct npu_fault */
	uint64_t address;		/* virtual address, or offset in an SRAM */
	uint32_t program_offset;	/* of the instruction */
	uint32_t instruction;		/* its first four bytes; 0: unknown */
};

struct npu_task {
	bool running;
	bool profile;
	bool hung;			/* injected: no engine's operation begins */
	bool stuck;			/* ... and its clusters do not stop either */
	uint16_t ending;		/* enum npu_status it is to end with once they do */
	uint8_t slot, queue, context;
	uint8_t clusters;
	uint8_t cluster[NPU_PROGRAM_CLUSTERS_MAX];	/* device's numbers, in the gang's order */
	uint8_t ended;			/* streams */
	uint8_t arrived;		/* at the barrier */
	uint32_t task_id;
	uint64_t program;		/* VA of the header */
	struct npu_program_header header;	/* as copied and checked */
	uint32_t program_bytes;
	uint32_t first[NPU_PROGRAM_CLUSTERS_MAX];	/* offsets at which the streams begin */
	uint32_t window_base, window_bytes;	/* in global SRAM */
	bool returning;			/* streams run that bring back what the task needs */
	uint32_t leave_at;		/* number of the POINT, when it is to leave */
	uint64_t save_area;		/* VA; of save_bytes a cluster, 0: is not preempted */
	uint32_t save_bytes;
	uint64_t budget_left;		/* cycles, while it is being saved */
	uint8_t arguments;		/* how many the packet gave; the others are 0 */
	uint64_t argument[NPU_ARG_COUNT];
	struct npu_config config;	/* the device's, local SRAM cut to the header's */
	uint8_t token[NPU_TOKEN_SHARED_COUNT];
	uint64_t token_waiters[NPU_TOKEN_SHARED_COUNT];	/* bit cluster * 8 + engine */
	uint64_t start;
	struct npu_task_counters counters;
	struct npu_alarm budget;
};

/**
 * npu_task_begin() - the task starts now: front ends decode after the dispatch time
 *
 * The members up to @argument and @config, and the budget event's handler and rank, are set.
 */
void npu_task_begin(struct npu_model *model, struct npu_task *task, uint64_t budget_cycles);

/**
 * npu_task_resume() - the task goes on, as npu_task_begin() but with its start and counters
 *
 * Streams go on at @first, with tokens, loops and descriptors of zeroes.
 */
void npu_task_resume(struct npu_model *model, struct npu_task *task, uint64_t budget_cycles);

/** npu_task_set_states() - descriptors, loops and tokens are what the front ends hold for it */
void npu_task_set_states(struct npu_model *model, struct npu_task *task);

/**
 * npu_task_stop() - take a running task off its clusters, whatever they are doing
 *
 * Says nothing to anybody; see npu_command_task_ended().
 */
void npu_task_stop(struct npu_model *model, struct npu_task *task);

/**
 * npu_task_fault() - end a running task with NPU_STATUS_FAULT and a fault record
 * @cluster:	the device's number of the cluster where it happened
 *
 * The caller must not touch the task's clusters afterwards.
 */
void npu_task_fault(struct npu_model *model, struct npu_task *task, unsigned int cluster,
		    const struct npu_task_fault *fault);

/** npu_task_report() - append a fault of the device's cluster @cluster to the fault queue */
void npu_task_report(struct npu_model *model, const struct npu_task *task, unsigned int cluster,
		     const struct npu_task_fault *fault);

/**
 * npu_task_place() - where a running task stands: @place's error is left alone
 *
 * At an instruction that an engine works on; when nothing moves any more, at one that waits for a
 * token; else at a barrier. The lowest cluster of the gang counts. Returns the cluster's number.
 */
unsigned int npu_task_place(struct npu_model *model, const struct npu_task *task,
			    struct npu_task_fault *place);

/** npu_task_stream_ended() - a cluster has come to END; the last one ends the task */
void npu_task_stream_ended(struct npu_model *model, struct npu_task *task);

/** npu_task_clusters() - mask of the device's clusters it runs on */
uint32_t npu_task_clusters(const struct npu_task *task);

/** npu_task_gang_index() - the gang's number of a device's cluster */
unsigned int npu_task_gang_index(const struct npu_task *task, unsigned int cluster);

#endif /* NPU_MODEL_TASK_H */
