// SPDX-License-Identifier: MIT
/*
 * Preemption: whatever happens between a point and the return, and whenever it does, the results
 * are those of a task that was left alone. Manual: command-processor.rst, "Preemption".
 */
#include <string.h>

#include "board.h"
#include "noise.h"

#define PROGRAM		0x200000
#define ARGUMENTS	0x2000
#define RECORD		0x3000
#define INPUT		0x100000
#define OUTPUT		0x110000
#define SAVE		0x120000
#define CLUSTERS	2
#define SUM_BYTES	2048		/* 4 x 256 of fp16 */
#define TURNS		6
#define SHARE		(TURNS * SUM_BYTES)	/* of a cluster, in the output and the window */
#define LIMIT		200000

enum { SUM = 1, STEP, PUT, IN, OUT, FROM_WINDOW };

enum { TOKEN_LOADED = 1, TOKEN_ADDED, TOKEN_PUT, TOKEN_KEPT = 9 };
#define SHARED_KEPT	(NPU_TOKEN_LOCAL_COUNT + 3)

/* A program whose points can be placed wrong. */
struct variant {
	uint32_t save_bytes;
	uint32_t count;			/* of ranges */
	uint32_t point;			/* 0: where the table is */
	uint32_t bytes;			/* of the first range */
	uint8_t opcode;
	uint32_t flags;
	bool again;			/* the step is loaded again, not saved */
	bool uneven;			/* the second cluster is slower */
};

static const struct variant good = {
	.save_bytes = sizeof(struct npu_save_state) + 2 * SUM_BYTES + SHARE,
	.count = 3,
	.bytes = SUM_BYTES,
	.opcode = NPU_OP_BARRIER,
};

/* A POINT; what it needs beside the sums is loaded again, or kept in the window. */
static const struct variant again = {
	.save_bytes = sizeof(struct npu_save_state) + SUM_BYTES,
	.count = 1,
	.bytes = SUM_BYTES,
	.opcode = NPU_OP_POINT,
	.flags = NPU_POINT_WINDOW,
	.again = true,
	.uneven = true,
};

static void load(struct program *program, unsigned int reg, struct npu_td td)
{
	program_descriptor(program, reg, &td);
}

static void move(struct program *program, unsigned int to, unsigned int from, unsigned int wait,
		 unsigned int release)
{
	program_emit(program, INSN(.opcode = NPU_OP_DMA, .dst = (uint8_t)to,
				   .src[0] = (uint8_t)from,
				   .wait = { wait ? NPU_TOKEN(wait) : 0 },
				   .release = { release ? NPU_TOKEN(release) : 0 }));
}

static void sync(struct program *program, unsigned int wait, unsigned int release)
{
	program_emit(program, INSN(.opcode = NPU_OP_SYNC, .subop = NPU_ENGINE_FRONT,
				   .wait = { wait ? NPU_TOKEN(wait) : 0 },
				   .release = { release ? NPU_TOKEN(release) : 0 }));
}

/*
 * Sums up: SUM += STEP, TURNS times, each sum to another place of the window, by a descriptor that
 * moves on; a point in every turn. At the end the window goes out. Tokens released before the loop
 * are taken behind it.
 */
static void emit_stream(struct program *program, unsigned int cluster, uint32_t point,
			const struct variant *variant)
{
	int64_t own = (int64_t)cluster * SHARE;
	/* A POINT does not wait until the sum has been put there. */
	unsigned int put = variant->opcode == NPU_OP_POINT ? TOKEN_PUT : 0;

	load(program, IN, dense(NPU_SPACE_DRAM, 0, own, NPU_DTYPE_FP16, 1, 1, 4, 256));
	load(program, SUM, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_FP16, 1, 1, 4, 256));
	load(program, STEP, dense(NPU_SPACE_LOCAL, 0, 0x1000, NPU_DTYPE_FP16, 1, 1, 4, 256));
	load(program, PUT, dense(NPU_SPACE_GLOBAL, 0, own, NPU_DTYPE_FP16, 1, 1, 4, 256));
	move(program, SUM, IN, 0, 0);
	move(program, STEP, IN, 0, TOKEN_LOADED);
	sync(program, TOKEN_LOADED, TOKEN_KEPT);
	if (!cluster)
		sync(program, 0, SHARED_KEPT);
	if (put)
		sync(program, 0, put);
	program_emit(program, INSN(.opcode = NPU_OP_LOOP, .imm32 = TURNS));
	program_emit(program, INSN(.opcode = NPU_OP_VEC, .subop = NPU_VEC_ADD, .dst = SUM,
				   .src = { SUM, STEP }, .wait = { put ? NPU_TOKEN(put) : 0 },
				   .release = { NPU_TOKEN(TOKEN_ADDED) }));
	move(program, PUT, SUM, TOKEN_ADDED, put);
	program_emit(program, INSN(.opcode = NPU_OP_TDSET, .subop = NPU_TDSET_ADD_ADDRESS,
				   .dst = PUT, .imm32 = SUM_BYTES));
	program_emit(program, INSN(.opcode = variant->opcode, .imm32 = point));
	if (variant->uneven && cluster) {
		program_emit(program, INSN(.opcode = NPU_OP_LOOP, .imm32 = 100));
		program_emit(program, INSN(.opcode = NPU_OP_ENDLOOP));
	}
	program_emit(program, INSN(.opcode = NPU_OP_ENDLOOP));
	sync(program, TOKEN_KEPT, 0);
	if (cluster)
		sync(program, SHARED_KEPT, 0);
	load(program, FROM_WINDOW, dense(NPU_SPACE_GLOBAL, 0, own, NPU_DTYPE_INT8, 1, 1, 1, SHARE));
	load(program, OUT, dense(NPU_SPACE_DRAM, 1, own, NPU_DTYPE_INT8, 1, 1, 1, SHARE));
	move(program, OUT, FROM_WINDOW, 0, 0);
	program_emit(program, INSN(.opcode = NPU_OP_END));
}

/* Loads the step again; the state of before comes back behind it. */
static void emit_resume(struct program *program, unsigned int cluster, struct npu_point *point)
{
	point->resume = program->size;
	load(program, IN, dense(NPU_SPACE_DRAM, 0, (int64_t)cluster * SHARE, NPU_DTYPE_FP16, 1, 1,
				4, 256));
	load(program, STEP, dense(NPU_SPACE_LOCAL, 0, 0x1000, NPU_DTYPE_FP16, 1, 1, 4, 256));
	program_emit(program, INSN(.opcode = NPU_OP_POINT, .imm32 = NPU_POINT_ALIGN));
	move(program, STEP, IN, 0, TOKEN_KEPT);
	program_emit(program, INSN(.opcode = NPU_OP_END));
}

/* The tables behind the header, one a stream; then the streams. */
static struct program make_program(struct board *board, unsigned int context,
				   const struct variant *variant)
{
	struct program program = program_begin(board, context, PROGRAM, CLUSTERS);
	uint32_t table[CLUSTERS];

	program.header->local_bytes = 65536;
	program.header->global_bytes = CLUSTERS * SHARE;
	program.header->save_bytes = variant->save_bytes;
	for (unsigned int cluster = 0; cluster < CLUSTERS; cluster++) {
		const struct npu_point header = {
			.count = variant->count, .flags = variant->flags,
		};
		const struct npu_point_range range[3] = {
			{ .space = NPU_SPACE_LOCAL, .offset = 0, .bytes = variant->bytes },
			{ .space = NPU_SPACE_LOCAL, .offset = 0x1000, .bytes = SUM_BYTES },
			{ .space = NPU_SPACE_GLOBAL, .offset = cluster * SHARE, .bytes = SHARE },
		};

		table[cluster] = program.size;
		memcpy((uint8_t *)program.header + program.size, &header, sizeof(header));
		program.size += sizeof(header);
		memcpy((uint8_t *)program.header + program.size, range, sizeof(range));
		program.size += sizeof(range);
	}
	for (unsigned int cluster = 0; cluster < CLUSTERS; cluster++) {
		program_stream(&program, cluster);
		emit_stream(&program, cluster, variant->point ? variant->point : table[cluster],
			    variant);
	}
	for (unsigned int cluster = 0; cluster < CLUSTERS && variant->again; cluster++)
		emit_resume(&program, cluster,
			    (struct npu_point *)((uint8_t *)program.header + table[cluster]));
	program.header->bytes = program.size;
	return program;
}

/* How the last task left slot 0. */
static uint32_t left(struct board *board)
{
	return npu_model_core_read(board->model, NPU_REG_SLOT_LEFT(0));
}

/* It was preempted, and what is named there is an instruction with that opcode. */
static bool left_at_point(struct board *board, uint8_t opcode)
{
	uint32_t word = left(board);
	const struct npu_insn *insn = board_at(board, 0, PROGRAM);

	return (word & 0xff) == NPU_SLOT_LEFT_PREEMPTED &&
	       insn[word >> NPU_SLOT_LEFT_POINT_SHIFT].opcode == opcode;
}

static uint32_t preemptions(struct board *board)
{
	return npu_model_register_read(board->model, NPU_REG_COUNTER_PREEMPTIONS_LO);
}

static const struct npu_record *record_of(struct board *board, unsigned int context)
{
	return board_at(board, context, RECORD);
}

/* Contexts 0 and 1 with a queue each, in the slot of the same number. */
static struct board *make_board(void)
{
	struct board *board = board_create(NULL);

	for (unsigned int context = 0; context < 2; context++) {
		uint64_t *arguments;
		uint8_t *input;

		board_add_context(board, context);
		arguments = board_at(board, context, ARGUMENTS);
		arguments[0] = board_va(board, INPUT);
		arguments[1] = board_va(board, OUTPUT);
		arguments[NPU_ARG_SAVE] = board_va(board, SAVE);
		input = board_at(board, context, INPUT);
		for (unsigned int i = 0; i < CLUSTERS * SHARE; i += 2) {
			input[i] = (uint8_t)(i * 7 + context);
			input[i + 1] = 0x30 + i % 11;	/* 0.125 and more */
		}
		board_add_queue(board, context, context, 0x1000, 4);
		board_attach(board, context, context);
		board_run(board, 10000);
	}
	return board;
}

static void submit(struct board *board, const struct program *program, uint32_t flags,
		   uint32_t budget)
{
	struct npu_packet_exec exec = exec_packet(program, 5, ARGUMENTS, NPU_ARG_COUNT, RECORD);

	exec.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, flags, 0);
	exec.budget = budget;
	exec.signal_sem = 3;
	memset(board_at(board, program->context, RECORD), 0, sizeof(struct npu_record));
	memset(board_at(board, program->context, OUTPUT), 0, CLUSTERS * SHARE);
	board_push(board, program->context, &exec);
	board_ring_doorbell(board, program->context);
}

/* Runs on, cycle by cycle, until the slot is in @state or the task of context 0 has its record. */
static bool reach(struct board *board, unsigned int slot, uint32_t state)
{
	for (unsigned int i = 0; i < LIMIT; i++) {
		if (board_state(board, slot) == state)
			return true;
		if (record_of(board, 0)->status)
			return false;
		npu_model_run(board->model, 1);
	}
	fail_msg("neither the state nor the record within %u cycles", LIMIT);
	return false;
}

static const uint8_t *output(struct board *board)
{
	return board_at(board, 0, OUTPUT);
}

/* Output and record of a task that is left alone. */
static struct npu_record alone_with(uint8_t *result, uint32_t flags, const struct variant *variant)
{
	struct board *board = make_board();
	struct program program = make_program(board, 0, variant);
	struct npu_record record;

	assert_int_equal(left(board), 0);
	board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
	submit(board, &program, flags, 100);
	board_run(board, LIMIT);
	assert_int_equal(left(board), NPU_SLOT_LEFT_ENDED);
	record = *record_of(board, 0);
	assert_int_equal(record.status, NPU_STATUS_DONE);
	memcpy(result, output(board), CLUSTERS * SHARE);
	assert_int_equal(preemptions(board), 0);
	board_destroy(board);
	return record;
}

static struct npu_record alone(uint8_t *result, uint32_t flags)
{
	return alone_with(result, flags, &good);
}

/* A task of the other context on the same clusters and window, from beginning to end. */
static void disturb(struct board *board, uint32_t mask, uint32_t window)
{
	struct program program = make_program(board, 1, &good);

	board_grant(board, 1, mask, window, CLUSTERS * SHARE);
	submit(board, &program, 0, 100);
	board_run(board, LIMIT);
	assert_int_equal(record_of(board, 1)->status, NPU_STATUS_DONE);
	board_grant(board, 1, 0, 0, 0);
}

/* Let the task go on to its end, which is as if it had never left. */
static void finish_equal(struct board *board, const struct npu_record *plain,
			 const uint8_t *expected)
{
	const struct npu_record *record = record_of(board, 0);

	board_run(board, LIMIT);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(record->vector_cycles, plain->vector_cycles);
	assert_int_equal(board_semaphore(board, 0, 3), 1);
	assert_memory_equal(output(board), expected, CLUSTERS * SHARE);
	board_destroy(board);
}

/* Wanted in cycle after cycle of the task, a few apart; other clusters, another window after it. */
static void test_equal_results(void **state)
{
	static uint8_t expected[CLUSTERS * SHARE];
	const struct npu_record plain = alone(expected, NPU_EXEC_PREEMPT);
	unsigned int taken = 0;

	(void)state;
	for (uint64_t at = 0; at < plain.end - plain.start; at += 37) {
		struct board *board = make_board();
		struct program program = make_program(board, 0, &good);
		const struct npu_record *record = record_of(board, 0);
		uint32_t where = at / 37 % 3;

		board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		submit(board, &program, NPU_EXEC_PREEMPT, 100);
		assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
		npu_model_run(board->model, at);
		board_control(board, 0, NPU_SLOT_PREEMPT);
		if (reach(board, 0, NPU_SLOT_STATE_REQUEST)) {
			taken++;
			assert_int_equal(preemptions(board), 1);
			assert_int_equal(board_slot(board, 0, NPU_SLOT_GRANT), 0);
			assert_int_equal(record->status, NPU_STATUS_NONE);
			assert_true(left_at_point(board, good.opcode));
			disturb(board, 3, 0);
			board_grant(board, 0, 3 << where, where * 0x10000, CLUSTERS * SHARE);
			board_run(board, LIMIT);
		}
		finish_equal(board, &plain, expected);
	}
	assert_true(taken > 20);
}

/*
 * The same at POINTs that the clusters come to at different times: the window stays, other clusters,
 * a task of another context beside it, what was loaded is loaded again.
 */
static void test_equal_results_again(void **state)
{
	static uint8_t expected[CLUSTERS * SHARE];
	static uint8_t plain_output[CLUSTERS * SHARE];
	const struct npu_record plain = alone_with(expected, NPU_EXEC_PREEMPT, &again);
	unsigned int taken = 0;

	(void)state;
	alone(plain_output, 0);
	assert_memory_equal(expected, plain_output, sizeof(expected));
	for (uint64_t at = 0; at < plain.end - plain.start; at += 29) {
		struct board *board = make_board();
		struct program program = make_program(board, 0, &again);

		board_grant(board, 0, 3, 0x4000, CLUSTERS * SHARE);
		submit(board, &program, NPU_EXEC_PREEMPT, 100);
		assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
		npu_model_run(board->model, at);
		board_control(board, 0, NPU_SLOT_PREEMPT | NPU_SLOT_KEEP);
		/* Asked once more, and once more while it comes back. */
		npu_model_run(board->model, at % 100);
		board_control(board, 0, NPU_SLOT_PREEMPT | NPU_SLOT_KEEP);
		for (unsigned int i = 0; i < 2 && reach(board, 0, NPU_SLOT_STATE_REQUEST); i++) {
			taken++;
			assert_true(board_slot(board, 0, NPU_SLOT_STATE) & NPU_SLOT_STATE_KEPT);
			assert_true(left_at_point(board, again.opcode));
			disturb(board, 3, 0x20000);
			/* Another window will not do. */
			board_grant(board, 0, 3, 0x8000, CLUSTERS * SHARE);
			npu_model_run(board->model, 1000);
			assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_REQUEST);
			board_grant(board, 0, 3 << at % 3, 0x4000, CLUSTERS * SHARE);
			npu_model_run(board->model, 600 + at % 900);
			board_control(board, 0, NPU_SLOT_PREEMPT | NPU_SLOT_KEEP);
		}
		if (reach(board, 0, NPU_SLOT_STATE_REQUEST))
			board_grant(board, 0, 3, 0x4000, CLUSTERS * SHARE);
		finish_equal(board, &plain, expected);
	}
	assert_true(taken > 40);
}

/* A point that needs the window is a barrier when nobody keeps it; POINT costs a cycle of decode. */
static void test_point_alone(void **state)
{
	static uint8_t expected[CLUSTERS * SHARE];
	struct variant even = again;
	struct npu_record none, points, barriers;

	(void)state;
	even.uneven = false;
	points = alone_with(expected, NPU_EXEC_PREEMPT, &even);
	barriers = alone(expected, NPU_EXEC_PREEMPT);
	assert_true(points.end - points.start < barriers.end - barriers.start);
	for (unsigned int i = 0; i < 2; i++) {
		struct board *board = make_board();
		struct program program = make_program(board, 0, &again);

		board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		submit(board, &program, NPU_EXEC_PREEMPT, 100);
		assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
		if (i)
			board_control(board, 0, NPU_SLOT_PREEMPT);
		board_run(board, LIMIT);
		if (i)
			assert_true(record_of(board, 0)->end - record_of(board, 0)->start >
				    none.end - none.start);
		none = *record_of(board, 0);
		assert_int_equal(none.status, NPU_STATUS_DONE);
		assert_int_equal(preemptions(board), 0);
		assert_memory_equal(output(board), expected, sizeof(expected));
		board_destroy(board);
	}
}

/* At every point there is; out of its slot and into another one in between. */
static void test_again_and_again(void **state)
{
	static uint8_t expected[CLUSTERS * SHARE];
	struct board *board = make_board();
	struct program program = make_program(board, 0, &good);
	const struct npu_record *record = record_of(board, 0);
	unsigned int slot = 0;

	(void)state;
	alone(expected, 0);
	submit(board, &program, NPU_EXEC_PREEMPT, 100);
	for (unsigned int i = 0; i < TURNS; i++) {
		assert_true(reach(board, slot, NPU_SLOT_STATE_REQUEST));
		board_grant(board, slot, 6, 0x4000, CLUSTERS * SHARE);
		assert_true(reach(board, slot, NPU_SLOT_STATE_RUNNING));
		/* In every second turn while it is still being brought back. */
		while (i % 2 && !board->model->command.slot[slot].task.running)
			npu_model_run(board->model, 1);
		board_control(board, slot, NPU_SLOT_PREEMPT | (i % 2 ? NPU_SLOT_DETACH : 0));
		assert_true(reach(board, slot, i % 2 ? NPU_SLOT_STATE_FREE :
						       NPU_SLOT_STATE_REQUEST));
		if (i % 2) {
			uint32_t rung = npu_model_core_read(board->model,
							    NPU_REG_CORE_DOORBELLS_LO);

			assert_int_equal(rung, 1);
			npu_model_core_write(board->model, NPU_REG_CORE_DOORBELLS_LO, rung);
			slot = 2 + i;
			board_attach(board, slot, 0);
		}
	}
	assert_int_equal(preemptions(board), TURNS);
	assert_true(reach(board, slot, NPU_SLOT_STATE_REQUEST));
	board_grant(board, slot, 6, 0x4000, CLUSTERS * SHARE);
	board_run(board, LIMIT);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_memory_equal(output(board), expected, sizeof(expected));
	board_destroy(board);
}

/*
 * Exactly: tables 122, walk 3 * 122, 120, then the transfer: (2176 + 2 * 2048 + 12288) / 64 = 290
 * bursts of 2 cycles for each cluster. Back again at once: states and tables 2 * 122, the same,
 * dispatch 60. The barrier's own 4 are not spent.
 */
static void test_cycles(void **state)
{
	static uint8_t expected[CLUSTERS * SHARE];
	const struct npu_record plain = alone(expected, NPU_EXEC_PREEMPT);
	const uint64_t bursts = CLUSTERS * 290;
	const uint64_t save = 122 + 3 * 122 + 120 + 2 * bursts;
	const uint64_t restore = 2 * 122 + 3 * 122 + 120 + 2 * bursts + 60;
	struct board *board = make_board();
	struct program program = make_program(board, 0, &good);
	const struct npu_record *record = record_of(board, 0);

	(void)state;
	board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
	submit(board, &program, NPU_EXEC_PREEMPT, 100);
	assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
	board_control(board, 0, NPU_SLOT_PREEMPT);
	assert_true(reach(board, 0, NPU_SLOT_STATE_REQUEST));
	board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
	board_run(board, LIMIT);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(record->end - record->start,
			 plain.end - plain.start + save + restore - 4);
	assert_int_equal(record->dram_write, plain.dram_write + bursts);
	/* Header, arguments and the streams' first blocks come again. */
	assert_true(record->dram_read >= plain.dram_read + bursts + 5);
	assert_int_equal(record->mac_cycles, plain.mac_cycles);
	board_destroy(board);
}

/* Asked to leave while what others left is still being cleared: it does, at its first point. */
static void test_before_the_start(void **state)
{
	struct board *board = make_board();
	struct program program = make_program(board, 0, &good);

	(void)state;
	disturb(board, 3, 0);
	board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
	submit(board, &program, NPU_EXEC_PREEMPT, 100);
	assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
	assert_int_equal(board->model->command.slot[0].phase, NPU_PHASE_SCRUB);
	board_control(board, 0, NPU_SLOT_PREEMPT);
	assert_true(reach(board, 0, NPU_SLOT_STATE_REQUEST));
	assert_int_equal(preemptions(board), 1);
	board_destroy(board);
}

/* What is no point is a barrier; a task that did not say so is not preempted. */
static void test_no_point(void **state)
{
	static uint8_t expected[CLUSTERS * SHARE];
	const struct npu_record plain = alone(expected, 0);
	struct variant variants[7] = { good, good, good, good, good, good, good };

	(void)state;
	variants[1].save_bytes -= 64;		/* too little for its ranges */
	variants[2].count = NPU_POINT_RANGES_MAX + 1;
	variants[3].point = 0x10000;		/* outside the program */
	variants[4].bytes = 0;
	variants[5].bytes = NPU_POINT_BYTES_MAX + 1;
	variants[6].save_bytes = 0;
	for (unsigned int i = 0; i < 7; i++) {
		struct board *board = make_board();
		struct program program = make_program(board, 0, &variants[i]);
		const struct npu_record *record = record_of(board, 0);

		board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		submit(board, &program, i ? NPU_EXEC_PREEMPT : 0, 100);
		assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
		board_control(board, 0, NPU_SLOT_PREEMPT);
		board_run(board, LIMIT);
		assert_int_equal(record->status, NPU_STATUS_DONE);
		assert_int_equal(record->end - record->start, plain.end - plain.start);
		assert_int_equal(preemptions(board), 0);
		assert_memory_equal(output(board), expected, sizeof(expected));
		board_destroy(board);
	}
}

/* A preempted task of context 0 that waits in slot 0. */
static struct board *preempted(uint32_t budget)
{
	struct board *board = make_board();
	struct program program = make_program(board, 0, &good);

	board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
	submit(board, &program, NPU_EXEC_PREEMPT, budget);
	assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
	board_control(board, 0, NPU_SLOT_PREEMPT);
	assert_true(reach(board, 0, NPU_SLOT_STATE_REQUEST));
	return board;
}

/* What a process does to its own saved state ends its task, and nothing else. */
static void test_changed_state(void **state)
{
	static const struct { uint32_t offset, value; } changes[] = {
		{ offsetof(struct npu_save_state, point), 8 },
		{ offsetof(struct npu_save_state, point), 0xfffffff0 },
		{ offsetof(struct npu_save_state, offset), 8 },
		{ offsetof(struct npu_save_state, offset), 0xfffffff0 },
		{ offsetof(struct npu_save_state, depth), 5 },
		{ offsetof(struct npu_save_state, loop), 0xfffffff0 },
		{ offsetof(struct npu_save_state, loop) + 4, 0 },
		{ offsetof(struct npu_save_state, loop) + 4, NPU_LOOP_MAX_COUNT + 1 },
		{ offsetof(struct npu_save_state, token) + 8, 0x10 },
		{ offsetof(struct npu_save_state, shared_token), 0xff },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct board *board = preempted(100);
		const struct npu_record *record = record_of(board, 0);
		const struct npu_fault *fault;
		uint64_t part = SAVE + i % CLUSTERS * good.save_bytes;

		memcpy(board_at(board, 0, part + changes[i].offset), &changes[i].value, 4);
		board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		board_run(board, LIMIT);
		assert_int_equal(record->status, NPU_STATUS_FAULT);
		assert_int_equal(record->error, NPU_ERROR_SAVED_STATE);
		assert_int_equal(board_semaphore(board, 0, 3), 1);
		fault = board_fault(board);
		assert_non_null(fault);
		assert_int_equal(fault->address, board_va(board, part));
		assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_EMPTY);
		disturb(board, 12, 0x20000);
		board_destroy(board);
	}
}

/* Noise in the saved state and in the tables: any end will do, but an end there must be. */
static void test_noise(void **state)
{
	unsigned int ends[8] = { 0 };

	(void)state;
	noise_seed(0x5a5e);
	for (unsigned int i = 0; i < 200; i++) {
		struct board *board = preempted(100);
		const struct npu_record *record = record_of(board, 0);

		for (unsigned int j = noise_below(4); j < 4; j++) {
			uint64_t at = noise_chance(3) ? PROGRAM + 64 + noise_below(128) :
							SAVE + noise_below(2 * good.save_bytes);

			noise_bytes(board_at(board, 0, at), 1 + noise_below(8));
		}
		for (unsigned int j = 0; j < 4 && !record->status; j++) {
			board_grant(board, 0, 3, 0x100 * 64, CLUSTERS * SHARE);
			npu_model_run(board->model, 2000 + noise_below(2000));
			board_control(board, 0, NPU_SLOT_PREEMPT);
		}
		board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		if (!record->status)
			reach(board, 0, NPU_SLOT_STATE_REQUEST);
		board_control(board, 0, NPU_SLOT_KILL);
		board_run(board, LIMIT);
		assert_in_range(record->status, NPU_STATUS_DONE, NPU_STATUS_KILLED);
		ends[record->status]++;
		disturb(board, 3, 0);
		board_destroy(board);
	}
	assert_true(ends[NPU_STATUS_FAULT] > 10);
	assert_true(ends[NPU_STATUS_DONE] + ends[NPU_STATUS_KILLED] > 10);
}

/* The save area's memory is missing: when it is to be written, or to be read. */
static void test_no_memory(void **state)
{
	(void)state;
	for (unsigned int late = 0; late < 2; late++) {
		struct board *board = late ? preempted(100) : make_board();
		struct program program = make_program(board, 0, &good);

		*board_entry(board, 0, board_va(board, SAVE + 0x2000), 0) = 0;
		npu_model_register_write(board->model, NPU_REG_TLB_INVALIDATE, 1);
		board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		if (!late) {
			submit(board, &program, NPU_EXEC_PREEMPT, 100);
			assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
			board_control(board, 0, NPU_SLOT_PREEMPT);
		}
		board_run(board, LIMIT);
		assert_int_equal(record_of(board, 0)->status, NPU_STATUS_FAULT);
		assert_int_equal(record_of(board, 0)->error, NPU_ERROR_MMU_UNMAPPED);
		assert_int_equal(board_fault(board)->access,
				 late ? NPU_FAULT_READ : NPU_FAULT_WRITE);
		assert_int_equal(board_semaphore(board, 0, 3), 1);
		board_destroy(board);
	}
}

/* Stores local SRAM and the window as a task of context 1 finds them. */
static struct program make_reader(struct board *board)
{
	struct program program = program_begin(board, 1, PROGRAM, 1);

	program.header->local_bytes = 65536;
	program.header->global_bytes = CLUSTERS * SHARE;
	program_stream(&program, 0);
	load(&program, STEP, dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, SHARE));
	load(&program, OUT, dense(NPU_SPACE_DRAM, 1, 0, NPU_DTYPE_INT8, 1, 1, 1, SHARE));
	load(&program, FROM_WINDOW, dense(NPU_SPACE_GLOBAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, SHARE));
	load(&program, PUT, dense(NPU_SPACE_DRAM, 1, SHARE, NPU_DTYPE_INT8, 1, 1, 1, SHARE));
	move(&program, OUT, STEP, 0, 0);
	move(&program, PUT, FROM_WINDOW, 0, 0);
	program_finish(&program);
	return program;
}

/* Brought back in part, until memory was missing: the next owner sees nothing of it. */
static void test_part_of_a_restore(void **state)
{
	(void)state;
	for (unsigned int page = 1; page < 3; page++) {
		struct board *board = preempted(100);
		const uint8_t *seen = board_at(board, 1, OUTPUT);
		struct program reader;

		disturb(board, 3, 0);
		reader = make_reader(board);
		*board_entry(board, 0, board_va(board, SAVE + page * 0x1000), 0) = 0;
		npu_model_register_write(board->model, NPU_REG_TLB_INVALIDATE, 1);
		board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		board_run(board, LIMIT);
		assert_int_equal(record_of(board, 0)->status, NPU_STATUS_FAULT);
		board_grant(board, 0, 0, 0, 0);
		board_grant(board, 1, 1, 0, CLUSTERS * SHARE);
		submit(board, &reader, 0, 100);
		memset(board_at(board, 1, OUTPUT), 0xff, CLUSTERS * SHARE);
		board_run(board, LIMIT);
		assert_int_equal(record_of(board, 1)->status, NPU_STATUS_DONE);
		for (unsigned int i = 0; i < 2 * SHARE; i++)
			assert_int_equal(seen[i], 0);
		board_destroy(board);
	}
}

/* Killed while it is saved, while it waits, while it is brought back: one record, one signal. */
static void test_kill(void **state)
{
	(void)state;
	for (unsigned int when = 0; when < 3; when++) {
		struct board *board = when ? preempted(100) : make_board();
		struct program program = make_program(board, 0, &good);
		const struct npu_record *record = record_of(board, 0);

		if (when != 1)
			board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		if (when == 0) {
			submit(board, &program, NPU_EXEC_PREEMPT, 100);
			assert_true(reach(board, 0, NPU_SLOT_STATE_RUNNING));
			board_control(board, 0, NPU_SLOT_PREEMPT);
			while (board->model->command.slot[0].phase != NPU_PHASE_SAVE)
				npu_model_run(board->model, 1);
		}
		if (when == 2) {
			while (board->model->command.slot[0].phase != NPU_PHASE_RESTORE)
				npu_model_run(board->model, 1);
		}
		board_control(board, 0, NPU_SLOT_KILL);
		board_run(board, LIMIT);
		assert_int_equal(record->status, NPU_STATUS_KILLED);
		assert_int_equal(left(board), NPU_SLOT_LEFT_KILLED);
		assert_true(record->start < record->end && record->vector_cycles);
		assert_int_equal(board_semaphore(board, 0, 3), 1);
		assert_int_equal(board_ring(board, 0)->read_index, 1);
		assert_int_equal(board_state(board, 0), NPU_SLOT_STATE_FREE);
		/* Nothing of it is left. */
		disturb(board, 3, 0);
		board_destroy(board);
	}
}

/* Refused when it asks for clusters again: its record has what it did until then. */
static void test_reject(void **state)
{
	struct board *board = preempted(100);
	const struct npu_record *record = record_of(board, 0);

	(void)state;
	board_control(board, 0, NPU_SLOT_REJECT | NPU_ERROR_NO_RESOURCES);
	board_run(board, LIMIT);
	assert_int_equal(record->status, NPU_STATUS_REJECTED);
	assert_int_equal(record->error, NPU_ERROR_NO_RESOURCES);
	assert_int_equal(left(board), NPU_SLOT_LEFT_FAILED);
	assert_true(record->start < record->end && record->vector_cycles && record->dram_write);
	assert_int_equal(board_semaphore(board, 0, 3), 1);
	board_destroy(board);
}

/* The process puts another packet in the place of a preempted task's: nothing is left of the task. */
static void test_other_packet(void **state)
{
	static uint8_t expected[CLUSTERS * SHARE];
	const struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 1), .sem = 4, .add = 1,
	};
	struct npu_record plain = alone(expected, NPU_EXEC_PREEMPT);
	struct board *board = preempted(100);
	struct program program = make_program(board, 0, &good);
	const struct npu_record *record = record_of(board, 0);

	(void)state;
	board_control(board, 0, NPU_SLOT_DETACH);
	memcpy(board_at(board, 0, 0x1000 + NPU_RING_PACKETS_OFFSET), &signal, sizeof(signal));
	board_attach(board, 0, 0);
	board_run(board, LIMIT);
	assert_int_equal(board_semaphore(board, 0, 4), 1);
	assert_int_equal(record->status, NPU_STATUS_NONE);
	board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
	submit(board, &program, NPU_EXEC_PREEMPT, 100);
	board_run(board, LIMIT);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	assert_int_equal(record->vector_cycles, plain.vector_cycles);
	assert_int_equal(record->dram_read, plain.dram_read);
	assert_memory_equal(output(board), expected, sizeof(expected));
	board_destroy(board);
}

/* Time off the clusters does not count: the budget is for what was left of it. */
static void test_budget(void **state)
{
	static uint8_t expected[CLUSTERS * SHARE];
	struct npu_record plain = alone(expected, 0);
	uint32_t enough = (uint32_t)((plain.end - plain.start) / 1024 + 1);

	(void)state;
	for (unsigned int less = 0; less < 2; less++) {
		struct board *board = preempted(enough - less);

		npu_model_run(board->model, 100000);
		disturb(board, 12, 0x20000);
		board_grant(board, 0, 3, 0, CLUSTERS * SHARE);
		board_run(board, LIMIT);
		assert_int_equal(record_of(board, 0)->status,
				 less ? NPU_STATUS_BUDGET : NPU_STATUS_DONE);
		assert_int_equal(left(board), less ? NPU_SLOT_LEFT_FAILED : NPU_SLOT_LEFT_ENDED);
		board_destroy(board);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_results),
		cmocka_unit_test(test_equal_results_again),
		cmocka_unit_test(test_point_alone),
		cmocka_unit_test(test_again_and_again),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_before_the_start),
		cmocka_unit_test(test_no_point),
		cmocka_unit_test(test_changed_state),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_part_of_a_restore),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_reject),
		cmocka_unit_test(test_other_packet),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
