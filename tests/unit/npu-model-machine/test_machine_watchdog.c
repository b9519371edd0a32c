// SPDX-License-Identifier: MIT
/*
 * Tasks that do not end: they die when their budget does, alone, and the fault queue says where
 * they stood. Manual: errors.rst, "Budget".
 */
#include <string.h>

#include "board.h"

#define PROGRAM		0x200000
#define ARGUMENTS	0x2000
#define RECORD		0x3000
#define TASK		0x1234
#define SIGNAL		6
#define BUDGET		3

enum { ACTIVATIONS = 1, WEIGHTS, SHAPE };

/* What a hung task does, and what is said of it: of instruction @place of stream @cluster. */
struct hang {
	void (*emit)(struct program *program, unsigned int cluster);
	unsigned int cluster;
	uint32_t place;			/* offset in the stream */
	uint32_t instruction;
	uint32_t access;
	uint64_t address;
};

static void emit_sync(struct program *program, unsigned int engine, uint8_t wait)
{
	program_emit(program, INSN(.opcode = NPU_OP_SYNC, .subop = (uint8_t)engine,
				   .wait = { wait }));
}

/* The MAC array waits for a token nobody releases. */
static void hang_engine(struct program *program, unsigned int cluster)
{
	emit_sync(program, NPU_ENGINE_MAC, cluster == 1 ? NPU_TOKEN(5) : 0);
}

/* So does decode, for one of the gang's, in both clusters. */
static void hang_decode(struct program *program, unsigned int cluster)
{
	(void)cluster;
	emit_sync(program, NPU_ENGINE_VECTOR, 0);
	emit_sync(program, NPU_ENGINE_FRONT, NPU_TOKEN(NPU_TOKEN_LOCAL_COUNT + 9));
}

static void hang_barrier(struct program *program, unsigned int cluster)
{
	if (cluster == 0)
		program_emit(program, INSN(.opcode = NPU_OP_BARRIER));
}

static void hang_loop(struct program *program, unsigned int cluster)
{
	for (unsigned int i = 0; i < 2; i++)
		program_emit(program, INSN(.opcode = NPU_OP_LOOP,
					   .imm32 = cluster ? 1 : NPU_LOOP_MAX_COUNT));
	program_emit(program, INSN(.opcode = NPU_OP_ENDLOOP));
	program_emit(program, INSN(.opcode = NPU_OP_ENDLOOP));
}

/* Passes of 8 x 8 positions: 576 cycles each. */
static void emit_passes(struct program *program, uint32_t passes)
{
	const struct npu_window window = {
		.out_height = 8, .out_width = 8, .kernel_height = 3, .kernel_width = 3,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
	};
	struct npu_td td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 8, 32);

	program_descriptor(program, ACTIVATIONS, &td);
	td = dense(NPU_SPACE_LOCAL, 0, 0x4000, NPU_DTYPE_INT8, 1, 9, 32, 32);
	program_descriptor(program, WEIGHTS, &td);
	program_descriptor(program, SHAPE, &window);
	program_emit(program, INSN(.opcode = NPU_OP_LOOP, .imm32 = passes));
	program_emit(program, INSN(.opcode = NPU_OP_MAC, .subop = NPU_MAC_SHAPE_M,
				   .src = { ACTIVATIONS, WEIGHTS, SHAPE }, .imm32 = 32));
	program_emit(program, INSN(.opcode = NPU_OP_ENDLOOP));
}

static void hang_work(struct program *program, unsigned int cluster)
{
	if (cluster == 1)
		emit_passes(program, NPU_LOOP_MAX_COUNT);
}

#define WORD(opcode, subop, wait)	((opcode) | (subop) << 8 | (uint32_t)(wait) << 16)
#define PASSES_OFFSET			(3 * (NPU_INSN_BYTES + NPU_TD_BYTES) + NPU_INSN_BYTES)

static const struct hang hangs[] = {
	{ hang_engine, 1, 0, WORD(NPU_OP_SYNC, NPU_ENGINE_MAC, NPU_TOKEN(5)), NPU_FAULT_TOKEN, 5 },
	{ hang_decode, 0, NPU_INSN_BYTES,
	  WORD(NPU_OP_SYNC, NPU_ENGINE_FRONT, NPU_TOKEN(NPU_TOKEN_LOCAL_COUNT + 9)),
	  NPU_FAULT_TOKEN, NPU_TOKEN_LOCAL_COUNT + 9 },
	{ hang_barrier, 0, 0, WORD(NPU_OP_BARRIER, 0, 0), NPU_FAULT_BARRIER, 0 },
	{ hang_work, 1, PASSES_OFFSET, WORD(NPU_OP_MAC, NPU_MAC_SHAPE_M, 0), NPU_FAULT_AT_WORK, 0 },
};

static struct program hung_program(struct board *board, unsigned int context,
				   const struct hang *hang)
{
	struct program program = program_begin(board, context, PROGRAM, 2);

	program.header->local_bytes = 65536;
	program.header->global_bytes = 4096;
	for (unsigned int cluster = 0; cluster < 2; cluster++) {
		program_stream(&program, cluster);
		hang->emit(&program, cluster);
		program_emit(&program, INSN(.opcode = NPU_OP_END));
	}
	program.header->bytes = program.size;
	return program;
}

static struct program good_program(struct board *board, unsigned int context)
{
	struct program program = program_begin(board, context, PROGRAM, 2);

	program.header->local_bytes = 65536;
	program.header->global_bytes = 4096;
	for (unsigned int cluster = 0; cluster < 2; cluster++) {
		program_stream(&program, cluster);
		emit_passes(&program, 10);
		program_emit(&program, INSN(.opcode = NPU_OP_END));
	}
	program.header->bytes = program.size;
	return program;
}

/* Slot and queue @context of each context, with two clusters of its own. */
static void add_owner(struct board *board, unsigned int context)
{
	board_add_context(board, context);
	board_add_queue(board, context, context, 0x1000, 4);
	board_attach(board, context, context);
	board_grant(board, context, 3u << 2 * context, 0x10000 * context, 4096);
	board_run(board, 10000);
}

static void submit(struct board *board, const struct program *program, uint32_t budget)
{
	struct npu_packet_exec exec = exec_packet(program, TASK + program->context, ARGUMENTS, 0,
						  RECORD);

	exec.budget = budget;
	exec.signal_sem = SIGNAL;
	board_push(board, program->context, &exec);
	board_ring_doorbell(board, program->context);
}

static const struct npu_record *record_of(struct board *board, unsigned int context)
{
	return board_at(board, context, RECORD);
}

/* The good task's record when it is alone, times counted from its doorbell. */
static struct npu_record alone(void)
{
	struct board *board = board_create(NULL);
	struct npu_record record;
	struct program program;
	uint64_t rung;

	add_owner(board, 0);
	add_owner(board, 1);
	program = good_program(board, 1);
	rung = npu_model_time(board->model);
	submit(board, &program, 100);
	board_run(board, 100000);
	record = *record_of(board, 1);
	assert_int_equal(record.status, NPU_STATUS_DONE);
	record.start -= rung;
	record.end -= rung;
	board_destroy(board);
	return record;
}

static void check_report(struct board *board, const struct program *program,
			 const struct hang *hang)
{
	const struct npu_fault *fault = board_fault(board);

	assert_non_null(fault);
	assert_int_equal(fault->header >> 8, NPU_ERROR_BUDGET);	/* context 0, queue 0 */
	assert_int_equal(fault->task_id, TASK);
	assert_int_equal(fault->access, hang->access);
	assert_int_equal(fault->address, hang->address);
	assert_int_equal(fault->cluster, hang->cluster);
	assert_int_equal((uint32_t)fault->program_offset,
			 program->header->entry[hang->cluster] + hang->place);
	assert_int_equal(fault->program_offset >> 32, hang->instruction);
	assert_null(board_fault(board));
}

static void test_hangs(void **state)
{
	const struct npu_record expected = alone();

	(void)state;
	for (unsigned int i = 0; i < sizeof(hangs) / sizeof(hangs[0]); i++) {
		struct board *board = board_create(NULL);
		const struct npu_record *hung;
		struct npu_record other;
		struct program program[2];
		uint64_t rung;

		add_owner(board, 0);
		add_owner(board, 1);
		program[0] = hung_program(board, 0, &hangs[i]);
		program[1] = good_program(board, 1);
		rung = npu_model_time(board->model);
		submit(board, &program[0], BUDGET);
		submit(board, &program[1], 100);
		board_run(board, 100000);

		hung = record_of(board, 0);
		assert_int_equal(hung->status, NPU_STATUS_BUDGET);
		assert_int_equal(hung->error, NPU_ERROR_BUDGET);
		assert_int_equal(hung->end - hung->start, BUDGET * 1024);
		assert_int_equal(board_semaphore(board, 0, SIGNAL), 1);
		assert_int_equal(board_ring(board, 0)->read_index, 1);
		check_report(board, &program[0], &hangs[i]);
		assert_true(npu_model_core_read(board->model, NPU_REG_CORE_IRQ_PENDING) &
			    NPU_CORE_IRQ_WATCHDOG);
		assert_int_equal(npu_model_core_read(board->model, NPU_REG_CORE_WATCHDOG), 0);
		assert_int_equal(npu_model_core_read(board->model, NPU_REG_CORE_WATCHDOG_TASK),
				 TASK);

		/* Not a cycle and not a count of the other one is different. */
		other = *record_of(board, 1);
		other.start -= rung;
		other.end -= rung;
		assert_memory_equal(&other, &expected, sizeof(other));
		assert_int_equal(board_semaphore(board, 1, SIGNAL), 1);

		/* Its queue goes on. */
		program[0] = good_program(board, 0);
		memset(board_at(board, 0, RECORD), 0, sizeof(*hung));
		submit(board, &program[0], 100);
		board_run(board, 100000);
		assert_int_equal(record_of(board, 0)->status, NPU_STATUS_DONE);
		board_destroy(board);
	}
}

/* Decode that never comes to an end is work; where in the loop it is at that cycle is its own. */
static void test_endless_loop(void **state)
{
	const struct hang hang = { .emit = hang_loop };
	struct board *board = board_create(NULL);
	const struct npu_fault *fault;
	struct program program;

	(void)state;
	add_owner(board, 0);
	program = hung_program(board, 0, &hang);
	submit(board, &program, BUDGET);
	board_run(board, 100000);
	assert_int_equal(record_of(board, 0)->status, NPU_STATUS_BUDGET);
	fault = board_fault(board);
	assert_non_null(fault);
	assert_int_equal(fault->access, NPU_FAULT_AT_WORK);
	assert_in_range((uint32_t)fault->program_offset, program.header->entry[0],
			program.header->entry[0] + 4 * NPU_INSN_BYTES - 1);
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hangs),
		cmocka_unit_test(test_endless_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
