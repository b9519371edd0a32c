// SPDX-License-Identifier: MIT
#include "stream_sim.h"

#include <endian.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "execute.h"
#include "npu/npu_packet.h"
#include "operation.h"

enum wait {
	WAIT_NONE,
	WAIT_BARRIER,
	WAIT_ENDED,
};

struct queue {
	struct npu_operation op[NPU_ENGINE_QUEUE_DEPTH];
	uint32_t at[NPU_ENGINE_QUEUE_DEPTH]; /* offset of the instruction, for messages */
	unsigned int head, count;
};

struct cluster {
	struct npu_cluster_memory memory;
	struct npu_td tds[NPU_TD_COUNT];
	uint32_t pc;
	enum wait wait;
	struct queue queues[NPU_ENGINE_COUNT];
	uint8_t tokens[NPU_TOKEN_LOCAL_COUNT];
	struct {
		uint32_t start, left;
	} loops[NPU_LOOP_NESTING];
	unsigned int loop_depth;
};

struct sim {
	const struct npu_config *config;
	const uint8_t *program;
	size_t size;
	const struct stream_sim_memory *arguments;
	struct cluster cluster[NPU_PROGRAM_CLUSTERS_MAX];
	unsigned int clusters;
	uint8_t shared[NPU_TOKEN_SHARED_COUNT];
	uint8_t *global;
	uint32_t window_bytes;
	uint64_t random;
	bool eager;
	char *error;
	uint64_t executed;
};

static int fail(struct sim *sim, unsigned int cluster, uint32_t pc, const char *what, long detail)
{
	snprintf(sim->error, 256, "cluster %u, offset %#x: %s (%ld)", cluster, pc, what, detail);
	return -1;
}

static uint8_t *token(struct sim *sim, struct cluster *cluster, uint8_t encoded)
{
	unsigned int id = encoded & NPU_TOKEN_ID_MASK;

	return id < NPU_TOKEN_LOCAL_COUNT ? &cluster->tokens[id] :
					    &sim->shared[id - NPU_TOKEN_LOCAL_COUNT];
}

static bool may_start(struct sim *sim, struct cluster *cluster, const uint8_t wait[2])
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (wait[i] && !*token(sim, cluster, wait[i]))
			return false;
	return true;
}

static void take(struct sim *sim, struct cluster *cluster, const uint8_t wait[2])
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (wait[i])
			--*token(sim, cluster, wait[i]);
}

static int give(struct sim *sim, unsigned int number, uint8_t encoded, uint16_t multicast,
		uint32_t pc)
{
	bool local = (encoded & NPU_TOKEN_ID_MASK) < NPU_TOKEN_LOCAL_COUNT;
	unsigned int i;

	for (i = 0; i < sim->clusters; i++) {
		uint8_t *counter;

		if (multicast && local ? !(multicast >> i & 1) : i != number)
			continue;
		counter = token(sim, &sim->cluster[i], encoded);
		if (*counter == NPU_TOKEN_MAX)
			return fail(sim, number, pc, "token overflow", encoded & NPU_TOKEN_ID_MASK);
		++*counter;
	}
	return 0;
}

/* ---------------------------------------------------------------------------- DMA */
static int side_base(struct sim *sim, unsigned int number, const struct npu_tensor *tensor,
		     uint32_t pc, uint8_t **base)
{
	const struct stream_sim_memory *memory;

	if (tensor->space == NPU_SPACE_LOCAL) {
		*base = sim->cluster[number].memory.local;
		return 0;
	}
	if (tensor->space == NPU_SPACE_GLOBAL) {
		*base = sim->global;
		if (tensor->offset + tensor->low < 0 ||
		    tensor->offset + tensor->high > (int64_t)sim->window_bytes)
			return fail(sim, number, pc, "outside the window", tensor->offset);
		return 0;
	}
	memory = &sim->arguments[tensor->argument];
	if (tensor->offset + tensor->low < 0 ||
	    tensor->offset + tensor->high > (int64_t)memory->size)
		return fail(sim, number, pc, "outside argument", tensor->argument);
	*base = memory->bytes;
	return 0;
}

static void copy_elements(const struct npu_operation *op, uint8_t *to, const uint8_t *from)
{
	const struct npu_tensor *dst = &op->dst, *src = &op->src[0];
	uint32_t i[4];

	for (i[0] = 0; i[0] < dst->dim[0]; i[0]++)
		for (i[1] = 0; i[1] < dst->dim[1]; i[1]++)
			for (i[2] = 0; i[2] < dst->dim[2]; i[2]++)
				for (i[3] = 0; i[3] < dst->dim[3]; i[3]++)
					memcpy(to + dst->offset + i[0] * dst->stride[0] +
						       i[1] * dst->stride[1] +
						       i[2] * dst->stride[2] +
						       i[3] * dst->stride[3],
					       from + src->offset + i[0] * src->stride[0] +
						       i[1] * src->stride[1] +
						       i[2] * src->stride[2] +
						       i[3] * src->stride[3],
					       dst->element_bytes);
}

static int run_dma(struct sim *sim, unsigned int number, const struct npu_operation *op,
		   uint32_t pc)
{
	uint16_t targets = op->dma.multicast ? op->dma.multicast : (uint16_t)(1u << number);
	uint8_t *from, *to;
	unsigned int i;

	if (side_base(sim, number, &op->src[0], pc, &from))
		return -1;
	for (i = 0; i < sim->clusters; i++) {
		if (!(targets >> i & 1))
			continue;
		if (side_base(sim, i, &op->dst, pc, &to))
			return -1;
		copy_elements(op, to, from);
	}
	return 0;
}

/* ------------------------------------------------------------------------ engines */
static int run_head(struct sim *sim, unsigned int number, unsigned int engine)
{
	struct cluster *cluster = &sim->cluster[number];
	struct queue *queue = &cluster->queues[engine];
	struct npu_operation op = queue->op[queue->head];
	uint32_t pc = queue->at[queue->head];
	unsigned int i;

	take(sim, cluster, op.wait);
	queue->head = (queue->head + 1) % NPU_ENGINE_QUEUE_DEPTH;
	queue->count--;
	if (op.opcode == NPU_OP_DMA) {
		if (run_dma(sim, number, &op, pc))
			return -1;
	} else {
		npu_execute(sim->config, &cluster->memory, &op);
	}
	for (i = 0; i < 2; i++)
		if (op.release[i] && give(sim, number, op.release[i],
					  op.opcode == NPU_OP_DMA ? op.dma.multicast : 0, pc))
			return -1;
	sim->executed++;
	return 0;
}

static bool engines_idle(const struct cluster *cluster)
{
	unsigned int i;

	for (i = NPU_ENGINE_DMA0; i < NPU_ENGINE_COUNT; i++)
		if (cluster->queues[i].count)
			return false;
	return true;
}

static int check_tokens(struct sim *sim, unsigned int number, uint32_t pc)
{
	unsigned int i;

	for (i = 0; i < NPU_TOKEN_LOCAL_COUNT; i++)
		if (sim->cluster[number].tokens[i])
			return fail(sim, number, pc, "token left over", i);
	return 0;
}

static void front_loop(struct cluster *cluster, const struct npu_operation *op)
{
	if (op->opcode == NPU_OP_LOOP) {
		cluster->loops[cluster->loop_depth].start = cluster->pc;
		cluster->loops[cluster->loop_depth++].left = op->imm32;
		return;
	}
	if (--cluster->loops[cluster->loop_depth - 1].left)
		cluster->pc = cluster->loops[cluster->loop_depth - 1].start;
	else
		cluster->loop_depth--;
}

/* What the front end does itself. Returns -1, 0 (done), 1 (not now: nothing changed). */
static int run_front(struct sim *sim, unsigned int number, const struct npu_operation *op)
{
	struct cluster *cluster = &sim->cluster[number];
	uint32_t pc = cluster->pc;

	switch (op->opcode) {
	case NPU_OP_LDTD:
		if (pc + 48 > sim->size)
			return fail(sim, number, pc, "past the end of the program", 0);
		memcpy(&cluster->tds[op->target], sim->program + pc + 16, sizeof(struct npu_td));
		cluster->pc += 48;
		return 0;
	case NPU_OP_TDSET:
		npu_td_set(&cluster->tds[op->target], op);
		cluster->pc += 16;
		return 0;
	case NPU_OP_BARRIER:
	case NPU_OP_END:
		if (!engines_idle(cluster))
			return 1;
		if (check_tokens(sim, number, pc))
			return -1;
		cluster->wait = op->opcode == NPU_OP_END ? WAIT_ENDED : WAIT_BARRIER;
		cluster->pc += 16;
		return 0;
	case NPU_OP_LOOP:
	case NPU_OP_ENDLOOP:
		cluster->pc += 16;
		if (op->opcode == NPU_OP_LOOP ? cluster->loop_depth == NPU_LOOP_NESTING :
						!cluster->loop_depth)
			return fail(sim, number, pc, "loop nesting", cluster->loop_depth);
		front_loop(cluster, op);
		return 0;
	default: /* SYNC, MARK */
		cluster->pc += 16;
		return 0;
	}
}

static int decode_next(struct sim *sim, unsigned int number)
{
	struct cluster *cluster = &sim->cluster[number];
	struct npu_operation op;
	struct npu_insn insn;
	struct queue *queue;
	uint32_t error, pc = cluster->pc;
	uint64_t detail;
	unsigned int i;
	int result;

	if ((size_t)pc + sizeof(insn) > sim->size)
		return fail(sim, number, pc, "past the end of the program", 0);
	memcpy(&insn, sim->program + pc, sizeof(insn));
	if (npu_operation_decode(sim->config, &insn, cluster->tds, &op, &error, &detail))
		return fail(sim, number, pc, "instruction refused", error);
	if (op.engine == NPU_ENGINE_FRONT) {
		if (!may_start(sim, cluster, op.wait))
			return 1;
		result = run_front(sim, number, &op);
		if (result)
			return result;
		take(sim, cluster, op.wait);
		for (i = 0; i < 2; i++)
			if (op.release[i] && give(sim, number, op.release[i], 0, pc))
				return -1;
		return 0;
	}
	queue = &cluster->queues[op.engine];
	if (queue->count == NPU_ENGINE_QUEUE_DEPTH)
		return 1;
	queue->op[(queue->head + queue->count) % NPU_ENGINE_QUEUE_DEPTH] = op;
	queue->at[(queue->head + queue->count) % NPU_ENGINE_QUEUE_DEPTH] = pc;
	queue->count++;
	cluster->pc += 16;
	return 0;
}

/* ------------------------------------------------------------------------ choices */
static unsigned int next_random(struct sim *sim, unsigned int bound)
{
	sim->random ^= sim->random << 13;
	sim->random ^= sim->random >> 7;
	sim->random ^= sim->random << 17;
	return (unsigned int)(sim->random >> 33) % bound;
}

static void pass_barrier(struct sim *sim)
{
	unsigned int i;

	for (i = 0; i < sim->clusters; i++)
		if (sim->cluster[i].wait != WAIT_BARRIER)
			return;
	for (i = 0; i < sim->clusters; i++)
		sim->cluster[i].wait = WAIT_NONE;
}

static bool all_ended(const struct sim *sim)
{
	unsigned int i;

	for (i = 0; i < sim->clusters; i++)
		if (sim->cluster[i].wait != WAIT_ENDED)
			return false;
	return true;
}

/*
 * One choice: the front end (engine 0) or an engine's head. Returns -1, 0 when something
 * happened, 1 when it could not.
 */
static int try_choice(struct sim *sim, unsigned int number, unsigned int engine)
{
	struct cluster *cluster = &sim->cluster[number];
	struct queue *queue = &cluster->queues[engine];

	if (engine == NPU_ENGINE_FRONT)
		return cluster->wait == WAIT_NONE ? decode_next(sim, number) : 1;
	if (!queue->count || !may_start(sim, cluster, queue->op[queue->head].wait))
		return 1;
	return run_head(sim, number, engine);
}

static int step(struct sim *sim)
{
	unsigned int choices = sim->clusters * NPU_ENGINE_COUNT, i;
	unsigned int first = sim->eager ? 0 : next_random(sim, choices);

	for (i = 0; i < choices; i++) {
		unsigned int choice = (first + i) % choices;
		int result = try_choice(sim, choice / NPU_ENGINE_COUNT, choice % NPU_ENGINE_COUNT);

		if (result <= 0)
			return result;
	}
	for (i = 0; i < sim->clusters; i++)
		if (sim->cluster[i].wait != WAIT_ENDED)
			break;
	return fail(sim, i, sim->cluster[i].pc, "nobody can go on", 0);
}

static int load_program(struct sim *sim)
{
	struct npu_program_header header;
	unsigned int i;

	if (sim->size < sizeof(header))
		return fail(sim, 0, 0, "program too short", (long)sim->size);
	memcpy(&header, sim->program, sizeof(header));
	if (le32toh(header.magic) != NPU_PROGRAM_MAGIC || le32toh(header.bytes) > sim->size ||
	    !header.clusters || header.clusters > NPU_PROGRAM_CLUSTERS_MAX ||
	    header.clusters > sim->config->clusters ||
	    le32toh(header.local_bytes) > sim->config->local_bytes)
		return fail(sim, 0, 0, "bad program header", header.clusters);
	sim->window_bytes = le32toh(header.global_bytes);
	if (sim->window_bytes > sim->config->global_bytes)
		return fail(sim, 0, 0, "window larger than global SRAM", sim->window_bytes);
	sim->global = malloc(sim->window_bytes + 1);
	if (!sim->global)
		return fail(sim, 0, 0, "no memory", 0);
	memset(sim->global, 0xff, sim->window_bytes);
	for (i = 0; i < header.clusters; i++) {
		sim->cluster[i].pc = le32toh(header.entry[i]);
		if (npu_cluster_memory_init(&sim->cluster[i].memory, sim->config))
			return fail(sim, i, 0, "no memory", 0);
		/* Nothing may depend on what was there before: not-a-number everywhere. */
		memset(sim->cluster[i].memory.local, 0xff, sim->config->local_bytes);
		sim->clusters++;
	}
	return 0;
}

int stream_sim_run(const struct npu_config *config, const uint8_t *program, size_t size,
		   const struct stream_sim_memory arguments[NPU_ARG_COUNT], uint64_t seed,
		   char error[256], uint64_t *instructions)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	unsigned int i;
	int result = -1;

	if (!sim) {
		snprintf(error, 256, "no memory");
		return -1;
	}
	sim->config = config;
	sim->program = program;
	sim->size = size;
	sim->arguments = arguments;
	sim->random = seed * 0x9e3779b97f4a7c15ull | 1;
	sim->eager = !seed;
	sim->error = error;
	result = load_program(sim);
	while (!result && !all_ended(sim)) {
		result = step(sim);
		pass_barrier(sim);
	}
	for (i = 0; i < NPU_TOKEN_SHARED_COUNT && !result; i++)
		if (sim->shared[i])
			result = fail(sim, 0, 0, "shared token left over", i);
	if (instructions)
		*instructions = sim->executed;
	for (i = 0; i < sim->clusters; i++)
		npu_cluster_memory_release(&sim->cluster[i].memory);
	free(sim->global);
	free(sim);
	return result;
}
