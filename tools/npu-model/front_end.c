// SPDX-License-Identifier: MIT
/*
 * Front end: instruction buffer, decode, loops, barriers. timing.rst, "Front end".
 */
#include <string.h>

#include "cluster.h"
#include "machine.h"
#include "memory.h"

static struct npu_cluster *cluster_of(struct npu_alarm *event, size_t offset)
{
	return (struct npu_cluster *)((char *)event - offset);
}

static struct npu_fetch_block *block_of(struct npu_front_end *front, uint32_t number)
{
	return &front->block[number % NPU_FETCH_BLOCKS];
}

static bool block_present(struct npu_front_end *front, uint32_t number)
{
	const struct npu_fetch_block *block = block_of(front, number);

	return block->present && block->number == number;
}

/* Bytes of a block inside the program. */
static uint32_t block_bytes(const struct npu_task *task, uint32_t number)
{
	uint32_t first = number * NPU_FETCH_BLOCK_BYTES;
	uint32_t left = task->program_bytes - first;

	return left < NPU_FETCH_BLOCK_BYTES ? left : NPU_FETCH_BLOCK_BYTES;
}

static uint32_t block_bursts(const struct npu_task *task, uint32_t number)
{
	return (block_bytes(task, number) + NPU_BURST_BYTES - 1) / NPU_BURST_BYTES;
}

/* The block's bytes arrive. What cannot be read is an error only for who comes to decode it. */
static void load_block(struct npu_model *model, struct npu_cluster *cluster, uint32_t number)
{
	const struct npu_task *task = cluster->task;
	struct npu_fetch_block *block = block_of(&cluster->front, number);

	block->present = true;
	block->number = number;
	block->bytes = block_bytes(task, number);
	block->error.error = NPU_ERROR_NONE;
	npu_context_read(model, task->context,
			 task->program + (uint64_t)number * NPU_FETCH_BLOCK_BYTES, block->data,
			 block->bytes, NPU_ACCESS_FETCH, &block->error);
}

static void count_fetch(struct npu_model *model, struct npu_task *task, uint32_t bursts)
{
	task->counters.dram_read += bursts;
	model->counters.dram_read += bursts;
}

/* Both pages of a block enter the TLB; the first one's walk is paid. */
static unsigned int touch_block(struct npu_model *model, const struct npu_task *task,
				uint32_t number)
{
	uint64_t first = task->program + (uint64_t)number * NPU_FETCH_BLOCK_BYTES;
	uint64_t last = first + block_bytes(task, number) - 1;
	unsigned int levels = npu_mmu_touch(model, task->context, first, NPU_ACCESS_FETCH);

	if (first >> NPU_PAGE_SHIFT != last >> NPU_PAGE_SHIFT)
		npu_mmu_touch(model, task->context, last, NPU_ACCESS_FETCH);
	return levels;
}

/* Fetch the first block missing of the one being decoded and the three after it. */
static void prefetch(struct npu_model *model, struct npu_cluster *cluster)
{
	struct npu_front_end *front = &cluster->front;
	struct npu_task *task = cluster->task;
	uint32_t current = front->offset / NPU_FETCH_BLOCK_BYTES;
	unsigned int levels;
	uint32_t number;

	if (front->fetching || !front->running)
		return;
	for (number = current; number < current + NPU_FETCH_BLOCKS; number++) {
		if ((uint64_t)number * NPU_FETCH_BLOCK_BYTES >= task->program_bytes)
			return;
		if (!block_present(front, number))
			break;
	}
	if (number == current + NPU_FETCH_BLOCKS)
		return;
	front->fetching = true;
	front->fetch_number = number;
	block_of(front, number)->present = false;
	levels = touch_block(model, task, number);
	count_fetch(model, task, block_bursts(task, number));
	npu_event_schedule(&model->events, &front->fetch_work,
			   model->now + model->config.dram_latency +
				   (uint64_t)levels * npu_walk_cycles(&model->config));
}

static void handle_fetch_work(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_cluster *cluster =
		cluster_of(event, offsetof(struct npu_cluster, front.fetch_work));
	struct npu_flow *flow = &cluster->front.fetch;
	uint64_t bursts = block_bursts(cluster->task, cluster->front.fetch_number);
	uint64_t work = bursts * npu_config_burst_cycles(&model->config);

	npu_flow_reset(flow);
	npu_flow_demand(flow, NPU_RESOURCE_DRAM, bursts * NPU_BURST_BYTES, work);
	npu_bandwidth_start(&model->bandwidth, &model->events, flow, model->now, work);
}

static void handle_fetch_end(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_cluster *cluster =
		cluster_of(event, offsetof(struct npu_cluster, front.fetch.end));

	npu_bandwidth_stop(&model->bandwidth, &model->events, &cluster->front.fetch, model->now);
	cluster->front.fetching = false;
	load_block(model, cluster, cluster->front.fetch_number);
	prefetch(model, cluster);
	npu_front_end_wake(model, cluster);
}

enum read_result { READ_DONE, READ_MISSING, READ_FAULT };

/* Copy bytes of the program out of the buffer; @offset + @bytes is inside the program. */
static enum read_result read_buffer(struct npu_front_end *front, uint32_t offset, void *to,
				    uint32_t bytes, struct npu_task_fault *fault)
{
	uint8_t *out = to;

	while (bytes) {
		uint32_t number = offset / NPU_FETCH_BLOCK_BYTES;
		uint32_t at = offset % NPU_FETCH_BLOCK_BYTES;
		uint32_t piece = NPU_FETCH_BLOCK_BYTES - at;
		struct npu_fetch_block *block = block_of(front, number);

		if (!block_present(front, number))
			return READ_MISSING;
		if (block->error.error) {
			fault->error = block->error.error;
			fault->address = block->error.address;
			fault->access = NPU_ACCESS_FETCH;
			return READ_FAULT;
		}
		piece = piece < bytes ? piece : bytes;
		memcpy(out, block->data + at, piece);
		out += piece;
		offset += piece;
		bytes -= piece;
	}
	return READ_DONE;
}

static void front_fault(struct npu_model *model, struct npu_cluster *cluster,
			struct npu_task_fault *fault)
{
	fault->program_offset = cluster->front.offset;
	fault->instruction = cluster->front.instruction;
	npu_task_fault(model, cluster->task, cluster->number, fault);
}

/* The bytes to be decoded next. False when they have not come yet, or after a fault. */
static bool read_next(struct npu_model *model, struct npu_cluster *cluster, void *to,
		      uint32_t bytes)
{
	struct npu_front_end *front = &cluster->front;
	struct npu_task_fault fault;
	enum read_result result = read_buffer(front, front->offset, to, bytes, &fault);

	if (result == READ_FAULT)
		front_fault(model, cluster, &fault);
	return result == READ_DONE;
}

static void instruction_fault(struct npu_model *model, struct npu_cluster *cluster, uint32_t error)
{
	struct npu_task_fault fault = {
		.error = error,
		.access = NPU_ACCESS_FETCH,
		.address = cluster->front.offset,
	};

	front_fault(model, cluster, &fault);
}

/* Go on to @offset, @cycles from now. */
static void go_to(struct npu_model *model, struct npu_cluster *cluster, uint32_t offset,
		  uint32_t cycles)
{
	struct npu_front_end *front = &cluster->front;

	front->offset = offset;
	front->instruction = 0;
	front->tokens_taken = false;
	front->drain = false;
	front->leaving = false;
	front->next_decode = model->now + cycles;
	npu_event_schedule(&model->events, &front->step, front->next_decode);
}

/* Release an instruction's tokens. Returns false after a fault. */
static bool release(struct npu_model *model, struct npu_cluster *cluster,
		    const struct npu_operation *operation)
{
	if (npu_tokens_release(model, cluster, operation->release))
		return true;
	instruction_fault(model, cluster, NPU_ERROR_TOKEN_OVERFLOW);
	return false;
}

static void end_stream(struct npu_model *model, struct npu_cluster *cluster,
		       const struct npu_operation *operation)
{
	struct npu_front_end *front = &cluster->front;

	if (cluster->jobs) {
		front->drain = true;
		return;
	}
	if (!release(model, cluster, operation))
		return;
	npu_front_end_reset(model, cluster);
	npu_task_stream_ended(model, cluster->task);
}

static void barrier(struct npu_model *model, struct npu_cluster *cluster,
		    const struct npu_operation *operation)
{
	struct npu_front_end *front = &cluster->front;
	struct npu_task *task = cluster->task;

	if (front->barrier == NPU_BARRIER_GO) {
		front->barrier = NPU_BARRIER_NONE;
		if (release(model, cluster, operation))
			go_to(model, cluster, front->offset + NPU_INSN_BYTES, 0);
		return;
	}
	if (front->barrier == NPU_BARRIER_ARRIVED)
		return;
	if (cluster->jobs) {
		front->drain = true;
		return;
	}
	front->drain = false;
	front->barrier = NPU_BARRIER_ARRIVED;
	if (++task->arrived < task->clusters)
		return;
	task->arrived = 0;
	if (npu_preempt_at_barrier(model, task))
		return;
	for (unsigned int i = 0; i < task->clusters; i++)
		npu_front_end_go(model, &model->clusters[task->cluster[i]],
				 model->now + model->config.barrier_cycles);
}

void npu_front_end_go(struct npu_model *model, struct npu_cluster *cluster, uint64_t time)
{
	cluster->front.barrier = NPU_BARRIER_GO;
	cluster->front.next_decode = time;
	npu_event_schedule(&model->events, &cluster->front.step, time);
}

/* A barrier for a task that is to leave here, nothing for others. */
static void point(struct npu_model *model, struct npu_cluster *cluster,
		  const struct npu_operation *operation)
{
	struct npu_front_end *front = &cluster->front;
	struct npu_task *task = cluster->task;

	if (!front->leaving) {
		/* So decode is not far ahead of what is at work: looked at again when one is taken. */
		if (!npu_engine_queue_empty(&cluster->engine[NPU_ENGINE_MAC]) ||
		    !npu_engine_queue_empty(&cluster->engine[NPU_ENGINE_VECTOR]))
			return;
		front->points += !task->returning;
		if (task->returning || !npu_preempt_stops(model, task, front->points)) {
			go_to(model, cluster, front->offset + NPU_INSN_BYTES, 1);
			return;
		}
		front->leaving = true;
	}
	barrier(model, cluster, operation);
}

static void load_descriptor(struct npu_model *model, struct npu_cluster *cluster,
			    const struct npu_operation *operation)
{
	struct npu_front_end *front = &cluster->front;
	uint32_t bytes = NPU_INSN_BYTES + NPU_TD_BYTES;
	uint8_t text[NPU_INSN_BYTES + NPU_TD_BYTES];

	if (bytes > cluster->task->program_bytes - front->offset) {
		instruction_fault(model, cluster, NPU_ERROR_PROGRAM_END);
		return;
	}
	if (!read_next(model, cluster, text, bytes))
		return;
	memcpy(&front->td[operation->target], text + NPU_INSN_BYTES, NPU_TD_BYTES);
	if (release(model, cluster, operation))
		go_to(model, cluster, front->offset + bytes, model->config.ldtd_cycles);
}

/* Returns the offset to go on at, or 0 for NPU_ERROR_LOOP. */
static uint32_t loop(struct npu_front_end *front, const struct npu_operation *operation)
{
	uint32_t next = front->offset + NPU_INSN_BYTES;
	struct npu_loop *top;

	if (operation->opcode == NPU_OP_LOOP) {
		if (front->depth == NPU_LOOP_NESTING)
			return 0;
		front->loop[front->depth++] = (struct npu_loop){ next, operation->imm32 };
		return next;
	}
	if (!front->depth)
		return 0;
	top = &front->loop[front->depth - 1];
	if (--top->left)
		return top->body;
	front->depth--;
	return next;
}

/* MARK of engine 0: at decode. */
static bool mark(struct npu_model *model, struct npu_cluster *cluster,
		 const struct npu_operation *operation)
{
	struct npu_job job = { .operation = *operation, .program_offset = cluster->front.offset };

	return npu_engine_mark(model, cluster, &job);
}

/* Instructions the front end executes itself; their tokens have been taken. */
static void execute(struct npu_model *model, struct npu_cluster *cluster,
		    const struct npu_operation *operation)
{
	struct npu_front_end *front = &cluster->front;
	uint32_t next = front->offset + NPU_INSN_BYTES;

	switch (operation->opcode) {
	case NPU_OP_TDSET:
		npu_td_set(&front->td[operation->target], operation);
		break;
	case NPU_OP_LOOP:
	case NPU_OP_ENDLOOP:
		next = loop(front, operation);
		if (!next) {
			instruction_fault(model, cluster, NPU_ERROR_LOOP);
			return;
		}
		break;
	case NPU_OP_MARK:
		if (!mark(model, cluster, operation))
			return;
		break;
	default:
		break;
	}
	if (release(model, cluster, operation))
		go_to(model, cluster, next, 1);
}

/*
 * The first four may wait for more than tokens: theirs are taken once, at first sight, which is
 * remembered until the instruction is done.
 */
static void decode_own(struct npu_model *model, struct npu_cluster *cluster,
		       const struct npu_operation *operation)
{
	struct npu_front_end *front = &cluster->front;

	if (!front->tokens_taken && !npu_tokens_take(cluster, operation->wait, NPU_ENGINE_FRONT))
		return;
	front->tokens_taken = true;
	switch (operation->opcode) {
	case NPU_OP_LDTD:
		load_descriptor(model, cluster, operation);
		break;
	case NPU_OP_BARRIER:
		barrier(model, cluster, operation);
		break;
	case NPU_OP_POINT:
		point(model, cluster, operation);
		break;
	case NPU_OP_END:
		end_stream(model, cluster, operation);
		break;
	default:
		execute(model, cluster, operation);
		break;
	}
}

/* The engine an instruction goes to, as far as its first two bytes tell. */
static unsigned int engine_of(const struct npu_insn *insn)
{
	switch (insn->opcode) {
	case NPU_OP_DMA:
		return insn->subop & 1 ? NPU_ENGINE_DMA1 : NPU_ENGINE_DMA0;
	case NPU_OP_MAC:
		return NPU_ENGINE_MAC;
	case NPU_OP_OUT:
		return NPU_ENGINE_OUT;
	case NPU_OP_VEC:
		return NPU_ENGINE_VECTOR;
	case NPU_OP_LAYOUT:
		return NPU_ENGINE_LAYOUT;
	case NPU_OP_SYNC:
	case NPU_OP_MARK:
		return insn->subop < NPU_ENGINE_COUNT ? insn->subop : NPU_ENGINE_FRONT;
	default:
		return NPU_ENGINE_FRONT;
	}
}

static void decode_fault(struct npu_model *model, struct npu_cluster *cluster, uint32_t error,
			 uint64_t detail)
{
	struct npu_task_fault fault = {
		.error = error,
		.access = NPU_ACCESS_FETCH,
		.address = error == NPU_ERROR_LOCAL_RANGE ? detail : cluster->front.offset,
	};

	front_fault(model, cluster, &fault);
}

static void decode(struct npu_model *model, struct npu_cluster *cluster,
		   const struct npu_insn *insn)
{
	struct npu_front_end *front = &cluster->front;
	unsigned int engine = engine_of(insn);
	struct npu_job *job = &front->own;
	uint64_t detail;
	uint32_t error;

	if (engine != NPU_ENGINE_FRONT) {
		job = npu_engine_space(&cluster->engine[engine]);
		if (!job)
			return;
	}
	if (npu_operation_decode(&cluster->task->config, insn, front->td, &job->operation, &error,
				 &detail)) {
		decode_fault(model, cluster, error, detail);
		return;
	}
	job->program_offset = front->offset;
	if (engine == NPU_ENGINE_FRONT) {
		decode_own(model, cluster, &job->operation);
		return;
	}
	if (insn->opcode == NPU_OP_DMA && !npu_dma_check(cluster->task, &job->operation)) {
		instruction_fault(model, cluster, NPU_ERROR_ILLEGAL_INSTRUCTION);
		return;
	}
	npu_scrub_touch(model, cluster, &job->operation);
	npu_engine_submit(model, cluster, &cluster->engine[engine]);
	go_to(model, cluster, front->offset + NPU_INSN_BYTES, 1);
}

static void handle_step(struct npu_model *model, struct npu_alarm *event)
{
	struct npu_cluster *cluster = cluster_of(event, offsetof(struct npu_cluster, front.step));
	struct npu_front_end *front = &cluster->front;
	struct npu_insn insn;

	if (!front->running)
		return;
	if (front->next_decode > model->now) {
		npu_event_schedule(&model->events, &front->step, front->next_decode);
		return;
	}
	prefetch(model, cluster);
	if (front->offset > cluster->task->program_bytes ||
	    cluster->task->program_bytes - front->offset < NPU_INSN_BYTES) {
		instruction_fault(model, cluster, NPU_ERROR_PROGRAM_END);
		return;
	}
	if (!read_next(model, cluster, &insn, sizeof(insn)))
		return;
	front->instruction = insn.opcode | (uint32_t)insn.subop << 8 |
			     (uint32_t)insn.wait[0] << 16 | (uint32_t)insn.wait[1] << 24;
	decode(model, cluster, &insn);
}

const struct npu_job *npu_front_end_stalled(struct npu_front_end *front)
{
	const struct npu_job *own = &front->own;

	if (!front->running || front->tokens_taken || npu_event_pending(&front->step) ||
	    own->program_offset != front->offset)
		return NULL;
	return own;
}

void npu_front_end_wake(struct npu_model *model, struct npu_cluster *cluster)
{
	struct npu_front_end *front = &cluster->front;

	if (!front->running)
		return;
	if (npu_event_pending(&front->step) && front->step.time <= model->now)
		return;
	if (front->next_decode > model->now)
		return;
	npu_event_schedule(&model->events, &front->step, model->now);
}

void npu_front_end_init(struct npu_cluster *cluster)
{
	struct npu_front_end *front = &cluster->front;
	unsigned int order = npu_engine_order(NPU_ENGINE_FRONT);

	front->step.handle = handle_step;
	front->step.rank = NPU_RANK_START(order, cluster->number);
	front->fetch_work.handle = handle_fetch_work;
	front->fetch_work.rank = NPU_RANK_START(order, cluster->number);
	front->fetch.end.handle = handle_fetch_end;
	front->fetch.end.rank = NPU_RANK_COMPLETE(order, cluster->number);
	front->fetch.id = (uint8_t)(cluster->number * 8u + NPU_ENGINE_FRONT);
}

void npu_front_end_reset(struct npu_model *model, struct npu_cluster *cluster)
{
	struct npu_front_end *front = &cluster->front;

	npu_event_cancel(&model->events, &front->step);
	npu_event_cancel(&model->events, &front->fetch_work);
	npu_bandwidth_stop(&model->bandwidth, &model->events, &front->fetch, model->now);
	front->running = false;
	front->fetching = false;
	front->drain = false;
	front->tokens_taken = false;
	front->leaving = false;
	front->barrier = NPU_BARRIER_NONE;
	front->depth = 0;
	for (unsigned int i = 0; i < NPU_FETCH_BLOCKS; i++)
		front->block[i].present = false;
}

void npu_front_end_jump(struct npu_model *model, struct npu_cluster *cluster, uint32_t offset,
			uint64_t time)
{
	struct npu_front_end *front = &cluster->front;

	front->running = true;
	front->points = 0;
	front->offset = offset;
	front->instruction = 0;
	front->own.program_offset = 0;
	front->next_decode = time;
	npu_event_schedule(&model->events, &front->step, time);
}

void npu_front_end_begin(struct npu_model *model, struct npu_cluster *cluster, uint32_t offset,
			 uint64_t time)
{
	struct npu_front_end *front = &cluster->front;
	uint32_t number = offset / NPU_FETCH_BLOCK_BYTES;

	memset(front->td, 0, sizeof(front->td));
	touch_block(model, cluster->task, number);
	count_fetch(model, cluster->task, block_bursts(cluster->task, number));
	load_block(model, cluster, number);
	npu_front_end_jump(model, cluster, offset, time);
}
