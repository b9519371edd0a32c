/* SPDX-License-Identifier: MIT */
/*
 * A cluster: front end, engines, tokens, its own memories.
 */
#ifndef NPU_MODEL_CLUSTER_H
#define NPU_MODEL_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "bandwidth.h"
#include "event.h"
#include "execute.h"
#include "mmu.h"
#include "operation.h"
#include "scrub.h"
#include "task.h"

struct npu_model;
struct npu_cluster;

/*
 * Instructions an engine holds at most: its queue, the one working, the one looked at ahead, and
 * those on their way through the tail: work takes a cycle at least, so no more than the tail is
 * long.
 */
#define NPU_ENGINE_JOBS		64

/* An instruction between decode and completion. */
struct npu_job {
	struct npu_operation operation;
	uint32_t program_offset;
	uint64_t ready;			/* first cycle it can start */
	uint64_t prepared;		/* start phase over: weights loaded, descriptor read */
	uint64_t work_start;
	uint64_t complete;
	uint32_t bursts_read, bursts_write;
};

enum npu_engine_state {
	NPU_ENGINE_IDLE = 0,		/* nothing in start or work */
	NPU_ENGINE_START,		/* until job->prepared */
	NPU_ENGINE_LATENCY,		/* DMA: DRAM latency and walk */
	NPU_ENGINE_WORK,
};

/*
 * Jobs are a ring with indices that only grow: [completed, current) are in their tail, `current` is
 * in start or work unless the engine is idle, [.., taken) have their tokens, [taken, end) queue.
 */
struct npu_engine_unit {
	struct npu_alarm step;		/* tokens and phases */
	struct npu_alarm complete;	/* the oldest job's completion */
	struct npu_flow flow;		/* the work phase */
	uint8_t state;			/* enum npu_engine_state */
	uint8_t number;			/* enum npu_engine */
	uint8_t cluster;
	bool look_ahead;
	bool stalled;			/* idle, the head lacks a token since stall_since */
	uint32_t completed, current, taken, end;
	uint64_t latency_end;
	uint64_t last_complete;
	uint64_t stall_since;
	struct npu_job job[NPU_ENGINE_JOBS];
};

#define NPU_FETCH_BLOCKS	4
#define NPU_FETCH_BLOCK_BYTES	1024

struct npu_fetch_block {
	bool present;
	uint32_t number;		/* offset from the program header / block bytes */
	uint32_t bytes;
	struct npu_memory_error error;	/* reading it failed; .error 0 if not */
	uint8_t data[NPU_FETCH_BLOCK_BYTES];
};

struct npu_loop {
	uint32_t body;			/* offset of the first instruction inside */
	uint32_t left;			/* trips, the current one included */
};

enum npu_barrier_state {
	NPU_BARRIER_NONE = 0,
	NPU_BARRIER_ARRIVED,
	NPU_BARRIER_GO,
};

struct npu_front_end {
	struct npu_alarm step;		/* decode */
	struct npu_alarm fetch_work;	/* latency of a block's fetch is over */
	struct npu_flow fetch;		/* its work */
	bool running;			/* the stream has not ended */
	bool drain;			/* waits until all engines are empty */
	bool tokens_taken;		/* those of the instruction at `offset` */
	uint8_t barrier;		/* enum npu_barrier_state */
	uint32_t offset;		/* next instruction, from the program header */
	uint64_t next_decode;
	bool fetching;
	uint32_t fetch_number;
	struct npu_fetch_block block[NPU_FETCH_BLOCKS];
	unsigned int depth;
	struct npu_loop loop[NPU_LOOP_NESTING];
	struct npu_td td[NPU_TD_COUNT];
	struct npu_job own;		/* the instruction executed at decode */
	uint32_t instruction;		/* first four bytes of the one at `offset`; 0: unknown */
	uint32_t points;		/* POINTs come to since the task started or came back */
	bool leaving;			/* stops at the one at `offset` */
	struct npu_save_state held;	/* of a task that comes back, until it goes on */
};

struct npu_cluster {
	uint8_t number;
	struct npu_task *task;		/* NULL: free */
	struct npu_residue residue;
	uint32_t jobs;			/* decoded, not complete */
	uint8_t token[NPU_TOKEN_LOCAL_COUNT];
	uint8_t token_waiters[NPU_TOKEN_LOCAL_COUNT];	/* bit a engine */
	struct npu_cluster_memory memory;
	struct npu_front_end front;
	struct npu_engine_unit engine[NPU_ENGINE_COUNT];	/* [NPU_ENGINE_FRONT] is not used */
};

/** npu_cluster_init() - allocate memories; returns 0 or -ENOMEM */
int npu_cluster_init(struct npu_cluster *cluster, const struct npu_config *config,
		     unsigned int number);

/** npu_cluster_release() - free them */
void npu_cluster_release(struct npu_cluster *cluster);

/** npu_cluster_reset() - stop everything; memories keep their content and owner */
void npu_cluster_reset(struct npu_model *model, struct npu_cluster *cluster);

/* Order of an engine within a cycle, timing.rst: DMA first, the front end last. */
static inline unsigned int npu_engine_order(unsigned int engine)
{
	return engine == NPU_ENGINE_FRONT ? NPU_ENGINE_COUNT - 1 : engine - 1;
}

/* ---------------------------------------------------------------- front_end.c */

/** npu_front_end_init() - set what never changes */
void npu_front_end_init(struct npu_cluster *cluster);

/** npu_front_end_begin() - a stream at @offset, first decode at @time; its block is there */
void npu_front_end_begin(struct npu_model *model, struct npu_cluster *cluster, uint32_t offset,
			 uint64_t time);

/** npu_front_end_jump() - go on at @offset, first decode at @time; nothing is in the buffer */
void npu_front_end_jump(struct npu_model *model, struct npu_cluster *cluster, uint32_t offset,
			uint64_t time);

/** npu_front_end_reset() - stop decoding and fetching, forget the buffer */
void npu_front_end_reset(struct npu_model *model, struct npu_cluster *cluster);

/** npu_front_end_wake() - something it may have waited for has happened: look again this cycle */
void npu_front_end_wake(struct npu_model *model, struct npu_cluster *cluster);

/** npu_front_end_go() - all clusters are at the barrier: go on at @time */
void npu_front_end_go(struct npu_model *model, struct npu_cluster *cluster, uint64_t time);

/** npu_front_end_stalled() - the instruction whose tokens decode waits for, or NULL */
const struct npu_job *npu_front_end_stalled(struct npu_front_end *front);

/* ------------------------------------------------------------------- engine.c */

/** npu_engine_init() - set what never changes */
void npu_engine_init(struct npu_cluster *cluster, unsigned int engine);

/** npu_engine_reset() - drop all jobs */
void npu_engine_reset(struct npu_model *model, struct npu_cluster *cluster, unsigned int engine);

/** npu_engine_space() - a free job to decode into; NULL while the queue is full */
struct npu_job *npu_engine_space(struct npu_engine_unit *unit);

/** npu_engine_queue_empty() - all instructions decoded for it have taken their tokens */
bool npu_engine_queue_empty(const struct npu_engine_unit *unit);

/** npu_engine_submit() - the job of npu_engine_space() is filled in, decoded in this cycle */
void npu_engine_submit(struct npu_model *model, struct npu_cluster *cluster,
		       struct npu_engine_unit *unit);

/** npu_engine_working() - the oldest instruction in work or in its tail, or NULL */
const struct npu_job *npu_engine_working(struct npu_engine_unit *unit);

/** npu_engine_at_work() - whether it is in the work phase of an operation, and since when */
bool npu_engine_at_work(const struct npu_engine_unit *unit, uint64_t *since);

/** npu_engine_stalled() - the instruction whose tokens an idle engine waits for, or NULL */
const struct npu_job *npu_engine_stalled(struct npu_engine_unit *unit);

/** npu_engine_mark() - write MARK's time stamp; false after a fault, the cluster being reset */
bool npu_engine_mark(struct npu_model *model, struct npu_cluster *cluster,
		     const struct npu_job *job);

/* -------------------------------------------------------------------- token.c */

/**
 * npu_tokens_take() - take both wait tokens of an instruction, or none
 * @engine:	who wants them; is looked at again when one that lacks is released
 */
bool npu_tokens_take(struct npu_cluster *cluster, const uint8_t wait[2], unsigned int engine);

/** npu_tokens_missing() - the first token that an instruction waits for; false: all are there */
bool npu_tokens_missing(struct npu_cluster *cluster, const uint8_t wait[2], unsigned int *token);

/**
 * npu_tokens_release() - increment both release tokens, wake who waits for them
 *
 * Returns false when one overflowed; the caller raises the fault.
 */
bool npu_tokens_release(struct npu_model *model, struct npu_cluster *cluster,
			const uint8_t release[2]);

/* ---------------------------------------------------------------------- dma.c */

/**
 * npu_dma_prepare() - a transfer's DRAM side begins: count bursts, go through the TLB
 *
 * Sets operation.work, the bursts and the flow's demands. Returns the cycles of latency before the
 * work.
 */
uint64_t npu_dma_prepare(struct npu_model *model, struct npu_cluster *cluster, struct npu_job *job,
			 struct npu_flow *flow);

/** npu_dma_check() - at decode: false when a multicast names a cluster outside the gang */
bool npu_dma_check(const struct npu_task *task, const struct npu_operation *operation);

/** npu_dma_execute() - move the data; false with *@fault, then part of it is moved */
bool npu_dma_execute(struct npu_model *model, struct npu_cluster *cluster,
		     const struct npu_operation *operation, struct npu_task_fault *fault);

#endif /* NPU_MODEL_CLUSTER_H */
