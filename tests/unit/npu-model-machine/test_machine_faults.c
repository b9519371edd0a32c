// SPDX-License-Identifier: MIT
/*
 * Injected faults: what each kind shows, that a reset makes it good, and that nobody else notices.
 * Manual: injected-faults.rst. The first argument is the firmware's image.
 */
#include <stdio.h>
#include <string.h>

#include "booted.h"

#define PROGRAM		0x200000
#define RECORD		0x100000
#define BUDGET		4		/* of 1024 cycles */
#define STOP_CYCLES	4096
#define LIMIT		20000000ull

/* A queue in each of two contexts. */
struct bench {
	struct board *board;
	struct program program[2];
	uint32_t tasks[2];
};

/* A vector operation, so that there is an engine's operation to hang. */
static struct program make_program(struct board *board, unsigned int context)
{
	struct program program = program_begin(board, context, PROGRAM, 1);
	struct npu_td td = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 64);

	program.header->local_bytes = 65536;
	program_descriptor(&program, 1, &td);
	program_emit(&program, INSN(.opcode = NPU_OP_SYNC, .subop = NPU_ENGINE_MAC));
	program_emit(&program, INSN(.opcode = NPU_OP_SYNC, .subop = NPU_ENGINE_VECTOR));
	program_finish(&program);
	return program;
}

static void set_up(struct bench *bench)
{
	for (unsigned int context = 0; context < 2; context++) {
		booted_create_context(bench->board, context);
		booted_create_queue(bench->board, context, context, 0x10000, 4);
		bench->program[context] = make_program(bench->board, context);
	}
}

static struct bench make_bench(const char *script)
{
	struct bench bench = { 0 };
	char config[128];

	snprintf(config, sizeof(config), "npu-v3?fault=%s", script);
	bench.board = board_create(config);
	booted_boot(bench.board);
	set_up(&bench);
	return bench;
}

static const struct npu_record *submit(struct bench *bench, unsigned int queue)
{
	uint32_t number = bench->tasks[queue]++;
	uint64_t at = RECORD + number * sizeof(struct npu_record);
	struct npu_packet_exec exec = exec_packet(&bench->program[queue], number, 0x2000, 0, at);

	exec.budget = BUDGET;
	memset(board_at(bench->board, queue, at), 0, sizeof(struct npu_record));
	board_push(bench->board, queue, &exec);
	board_ring_doorbell(bench->board, queue);
	return board_at(bench->board, queue, at);
}

static const struct npu_record *run(struct bench *bench, unsigned int queue)
{
	const struct npu_record *record = submit(bench, queue);

	booted_wait_record(bench->board, record);
	return record;
}

/* Let the device do what it can; a device with a timer can always do something. */
static void settle(struct board *board)
{
	uint64_t end = npu_model_time(board->model) + 1000000;

	while (npu_model_time(board->model) < end && !npu_model_run(board->model, 10000))
		;
}

/* A message without a care for the answer, if there is one. */
static void send_unheard(struct board *board)
{
	booted_write_register(board, NPU_REG_MAILBOX_TO_FW_SEND, 1);
	settle(board);
	if (booted_read_register(board, NPU_REG_FW_STATE) == NPU_FW_STATE_READY)
		booted_write_register(board, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
}

static uint32_t low(struct board *board, uint32_t offset)
{
	return booted_read_register(board, offset);
}

/* After a reset everything works, in a device that was set up anew. */
static void check_reset(struct bench *bench)
{
	struct board *board = bench->board;

	booted_write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	assert_int_equal(low(board, NPU_REG_ERROR_STATUS), 0);
	board_restart(board);
	booted_boot(board);
	for (unsigned int queue = 0; queue < 2; queue++) {
		uint32_t context = queue;

		memset(board_at(board, queue, 0x10000), 0, 0x1000);
		board_update_context(board, queue, true);
		assert_int_equal(booted_exchange(board, NPU_MESSAGE_CONTEXT_CREATE, &context,
						 1).status, 0);
		booted_create_queue(board, queue, queue, 0x10000, 4);
		assert_int_equal(run(bench, queue)->status, NPU_STATUS_DONE);
	}
	board_destroy(board);
}

static void check_fault(struct board *board, uint32_t error, uint32_t access)
{
	const struct npu_fault *fault = board_fault(board);

	assert_non_null(fault);
	assert_int_equal(fault->header >> 8, error);	/* context 0, queue 0 */
	assert_int_equal(fault->access, access);
	assert_null(board_fault(board));
}

/* The third task is hit, whoever's; tasks before and after it are well. */
static void test_hang(void **state)
{
	struct bench bench = make_bench("hang#3");
	const struct npu_record *record;

	(void)state;
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	assert_int_equal(run(&bench, 1)->status, NPU_STATUS_DONE);
	record = run(&bench, 0);
	assert_int_equal(record->status, NPU_STATUS_BUDGET);
	assert_int_equal(record->error, NPU_ERROR_BUDGET);
	assert_int_equal(record->end - record->start, BUDGET * 1024);
	check_fault(bench.board, NPU_ERROR_BUDGET, NPU_FAULT_AT_WORK);
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	assert_int_equal(run(&bench, 1)->status, NPU_STATUS_DONE);
	check_reset(&bench);
}

/* Its clusters are reset by the firmware; the task of another context beside it is not touched. */
static void test_stuck(void **state)
{
	struct bench bench = make_bench("stuck");
	const struct npu_record *stuck = submit(&bench, 0);
	const struct npu_record *other;

	(void)state;
	other = run(&bench, 1);
	assert_int_equal(other->status, NPU_STATUS_DONE);
	booted_wait_record(bench.board, stuck);
	assert_int_equal(stuck->status, NPU_STATUS_BUDGET);
	assert_in_range(stuck->end - stuck->start, BUDGET * 1024 + STOP_CYCLES,
			BUDGET * 1024 + STOP_CYCLES + 2000);
	check_fault(bench.board, NPU_ERROR_BUDGET, NPU_FAULT_AT_WORK);
	assert_int_equal(npu_model_core_read(bench.board->model, NPU_REG_CORE_STUCK), 0);
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	check_reset(&bench);
}

/* Its queue is destroyed while it hangs: the firmware's answer comes when it is gone. */
static void test_stuck_killed(void **state)
{
	struct bench bench = make_bench("stuck");
	const struct npu_record *record = submit(&bench, 0);
	uint32_t queue = 0;

	(void)state;
	npu_model_run(bench.board->model, 2000);
	assert_int_equal(record->status, NPU_STATUS_NONE);
	assert_int_equal(booted_exchange(bench.board, NPU_MESSAGE_QUEUE_DESTROY, &queue, 1).status,
			 NPU_ERROR_NONE);
	assert_int_equal(record->status, NPU_STATUS_KILLED);
	booted_create_queue(bench.board, 0, 0, 0x10000, 4);
	check_reset(&bench);
}

/* A firmware that does nothing about it: the slot stays as it is, until a reset. */
static void test_stuck_alone(void **state)
{
	struct board *board = board_create("npu-v3?fault=stuck");
	struct program program;
	struct npu_packet_exec exec;
	const struct npu_record *record;

	(void)state;
	board_simple(board);
	program = make_program(board, 0);
	exec = exec_packet(&program, 1, 0x2000, 0, RECORD);
	exec.budget = BUDGET;
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	board_run(board, 100000);
	record = board_at(board, 0, RECORD);
	assert_int_equal(record->status, NPU_STATUS_NONE);
	assert_int_equal(npu_model_core_read(board->model, NPU_REG_CORE_STUCK), 1);
	assert_true(npu_model_core_read(board->model, NPU_REG_CORE_IRQ_PENDING) &
		    NPU_CORE_IRQ_WATCHDOG);
	/* Other clusters are not its own. */
	npu_model_core_write(board->model, NPU_REG_CORE_STUCK, ~1u);
	assert_int_equal(npu_model_core_read(board->model, NPU_REG_CORE_STUCK), 1);
	npu_model_core_write(board->model, NPU_REG_CORE_STUCK, 1);
	board_run(board, 100000);
	assert_int_equal(record->status, NPU_STATUS_BUDGET);
	assert_int_equal(npu_model_core_read(board->model, NPU_REG_CORE_STUCK), 0);
	board_destroy(board);
}

/* What it would have told is there all the same; posting the index makes later ones come. */
static void test_drop_irq(void **state)
{
	struct bench bench = make_bench("drop-irq#20,hang,hang#2");
	struct board *board = bench.board;

	(void)state;
	/* Only hung tasks tell of themselves here: the first of them tells nobody. */
	while (board->irq_count[0] < 19) {
		assert_int_equal(booted_exchange(board, NPU_MESSAGE_PING, NULL, 0).status, 0);
	}
	board->irqs = 0;
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_BUDGET);
	settle(board);
	assert_int_equal(board->irqs, 0);
	assert_true(low(board, NPU_REG_IRQ_STATUS) & NPU_IRQ_FAULT);
	check_fault(board, NPU_ERROR_BUDGET, NPU_FAULT_AT_WORK);
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_BUDGET);
	settle(board);
	assert_int_equal(board->irqs, NPU_IRQ_FAULT);
	check_reset(&bench);
}

static void test_ecc_corrected(void **state)
{
	struct bench bench = make_bench("ecc-corrected#2/2");
	struct board *board = bench.board;

	(void)state;
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(run(&bench, i % 2)->status, NPU_STATUS_DONE);
	assert_int_equal(low(board, NPU_REG_COUNTER_ECC_CORRECTED_LO), 5);
	assert_int_equal(low(board, NPU_REG_COUNTER_ECC_CORRECTED_HI), 0);
	assert_int_equal(low(board, NPU_REG_COUNTER_ECC_UNCORRECTED_LO), 0);
	assert_int_equal(low(board, NPU_REG_ERROR_STATUS), NPU_ERROR_STATUS_CORRECTED);
	assert_in_range(low(board, NPU_REG_ERROR_CLUSTER), 0, 3);
	assert_in_range(low(board, NPU_REG_ERROR_ADDRESS), 1, 65535);
	booted_write_register(board, NPU_REG_ERROR_STATUS, ~0u);
	assert_int_equal(low(board, NPU_REG_ERROR_STATUS), 0);
	assert_null(board_fault(board));
	assert_int_equal(board->irq_count[2], 0);
	check_reset(&bench);
}

static void test_ecc_uncorrected(void **state)
{
	struct bench bench = make_bench("ecc-uncorrected#2");
	struct board *board = bench.board;
	const struct npu_record *record = run(&bench, 0);

	(void)state;
	assert_int_equal(record->status, NPU_STATUS_FAULT);
	assert_int_equal(record->error, NPU_ERROR_ECC);
	assert_int_equal(record->detail, low(board, NPU_REG_ERROR_ADDRESS));
	check_fault(board, NPU_ERROR_ECC, NPU_FAULT_READ);
	assert_int_equal(low(board, NPU_REG_COUNTER_ECC_UNCORRECTED_LO), 1);
	assert_int_equal(low(board, NPU_REG_ERROR_STATUS), NPU_ERROR_STATUS_UNCORRECTED);
	assert_int_equal(run(&bench, 1)->status, NPU_STATUS_DONE);
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	check_reset(&bench);
}

/* The firmware's own trap handler has the last word. */
static void test_fw_crash(void **state)
{
	struct bench bench = make_bench("fw-crash#40");
	struct board *board = bench.board;
	unsigned int turns = 0;

	(void)state;
	while (low(board, NPU_REG_FW_STATE) == NPU_FW_STATE_READY && turns++ < 100)
		send_unheard(board);
	assert_int_equal(low(board, NPU_REG_FW_STATE), NPU_FW_STATE_PANIC);
	assert_int_equal(low(board, NPU_REG_FW_ALIVE), 40);
	assert_int_equal(board->irq_count[3], 1);
	assert_int_equal(low(board, NPU_REG_MAILBOX_TO_HOST) & 0xffff, NPU_MESSAGE_PANIC);
	assert_int_equal(low(board, NPU_REG_MAILBOX_TO_HOST + 8), NPU_PANIC_TRAP);
	assert_int_equal(low(board, NPU_REG_MAILBOX_TO_HOST + 12), 1);
	assert_int_equal(low(board, NPU_REG_MAILBOX_TO_HOST + 16), 0xdeadbee0);
	check_reset(&bench);
}

/* It says nothing; what is in a slot with its grant goes on. */
static void test_fw_silence(void **state)
{
	struct bench bench = make_bench("fw-silence@100000");
	struct board *board = bench.board;
	uint32_t alive;

	(void)state;
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	while (npu_model_time(board->model) < 100000)
		run(&bench, 0);
	send_unheard(board);
	alive = low(board, NPU_REG_FW_ALIVE);
	send_unheard(board);
	assert_int_equal(low(board, NPU_REG_MAILBOX_TO_FW_SEND), 1);
	assert_int_equal(low(board, NPU_REG_FW_ALIVE), alive);
	assert_int_equal(low(board, NPU_REG_FW_STATE), NPU_FW_STATE_READY);
	assert_int_equal(board->irq_count[3], 0);
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	bench.board->irqs = 0;
	check_reset(&bench);
}

/* 64 bytes from one place of local SRAM's to another, by DMA. */
static struct program dma_program(struct board *board)
{
	struct program program = program_begin(board, 0, PROGRAM, 1);
	struct npu_td from = dense(NPU_SPACE_DRAM, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 64);
	struct npu_td to = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 1, 1, 64);

	program.header->local_bytes = 65536;
	program_descriptor(&program, 1, &from);
	program_descriptor(&program, 2, &to);
	program_emit(&program, INSN(.opcode = NPU_OP_DMA, .src = { 1 }, .dst = 2));
	program_finish(&program);
	return program;
}

static uint64_t dma_cycles(const char *config)
{
	struct board *board = board_create(config);
	struct program program;
	const struct npu_record *record;
	uint64_t argument, cycles;

	board_simple(board);
	program = dma_program(board);
	argument = board_va(board, 0x300000);
	record = board_execute(board, &program, &argument, 1);
	assert_int_equal(record->status, NPU_STATUS_DONE);
	cycles = record->end - record->start;
	board_destroy(board);
	return cycles;
}

static void test_slow_dma(void **state)
{
	(void)state;
	assert_int_equal(dma_cycles("npu-v3?fault=slow-dma:7777"), dma_cycles("npu-v3") + 7777);
	assert_int_equal(dma_cycles("npu-v3?fault=slow-dma"), dma_cycles("npu-v3") + 100000);
	assert_int_equal(dma_cycles("npu-v3?fault=slow-dma#2"), dma_cycles("npu-v3"));
}

static void test_tlb_hang(void **state)
{
	struct bench bench = make_bench("tlb-hang#2");
	struct board *board = bench.board;

	(void)state;
	booted_write_register(board, NPU_REG_TLB_INVALIDATE, 1);
	assert_int_equal(low(board, NPU_REG_TLB_DONE), 1);
	for (unsigned int i = 0; i < 3; i++)
		booted_write_register(board, NPU_REG_TLB_INVALIDATE, 1);
	settle(board);
	assert_int_equal(low(board, NPU_REG_TLB_DONE), 1);
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	booted_write_register(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	booted_write_register(board, NPU_REG_TLB_INVALIDATE, 1);
	assert_int_equal(low(board, NPU_REG_TLB_DONE), 1);
	check_reset(&bench);
}

static void test_over_temperature(void **state)
{
	struct bench bench = make_bench("over-temperature#2");
	struct board *board = bench.board;
	const struct npu_record *record;
	uint64_t time;

	(void)state;
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	record = submit(&bench, 0);
	settle(board);
	assert_int_equal(low(board, NPU_REG_ERROR_STATUS), NPU_ERROR_STATUS_TEMPERATURE);
	assert_int_equal(board->irq_count[3], 1);
	time = npu_model_time(board->model);
	submit(&bench, 1);
	assert_true(npu_model_run(board->model, 100000));
	npu_model_skip(board->model, 100000);
	assert_int_equal(npu_model_time(board->model), time);
	assert_true(npu_model_timer(board->model) == UINT64_MAX);
	assert_int_equal(record->status, NPU_STATUS_NONE);
	/* It cannot be cleared. */
	booted_write_register(board, NPU_REG_ERROR_STATUS, ~0u);
	assert_int_equal(low(board, NPU_REG_ERROR_STATUS), NPU_ERROR_STATUS_TEMPERATURE);
	check_reset(&bench);
}

static void test_dead(void **state)
{
	struct bench bench = make_bench("dead#2");
	struct board *board = bench.board;
	const struct npu_record *record;

	(void)state;
	assert_int_equal(run(&bench, 0)->status, NPU_STATUS_DONE);
	record = submit(&bench, 0);
	settle(board);
	board->irqs = 0;
	for (uint32_t offset = 0; offset < 0x10000; offset += 4)
		assert_int_equal(low(board, offset), ~0u);
	for (uint32_t offset = 0; offset < 0x10000; offset += 4)
		booted_write_register(board, offset, 2);
	submit(&bench, 1);
	assert_true(npu_model_run(board->model, 100000));
	npu_model_reset(board->model);
	assert_int_equal(low(board, NPU_REG_ID), ~0u);
	assert_int_equal(record->status, NPU_STATUS_NONE);
	assert_int_equal(board->irqs, 0);
	assert_int_equal(npu_model_irq_pending(board->model), 0);
	/* Power on, and the script begins again. */
	npu_model_power_cycle(board->model);
	assert_int_equal(low(board, NPU_REG_ID), NPU_ID_VALUE);
	board_restart(board);
	booted_boot(board);
	board_destroy(board);
}

/* The same script, the same cycles. */
static void test_same_again(void **state)
{
	struct npu_record first[8] = { 0 }, second[8];
	unsigned int failed = 0;

	(void)state;
	for (unsigned int turn = 0; turn < 2; turn++) {
		struct bench bench = make_bench("hang#2/3,ecc-uncorrected#5,stuck#4");

		for (unsigned int i = 0; i < 8; i++) {
			(turn ? second : first)[i] = *run(&bench, i % 2);
			failed += first[i].status != NPU_STATUS_DONE;
		}
		board_destroy(bench.board);
	}
	assert_true(failed >= 4);
	assert_memory_equal(first, second, sizeof(first));
}

struct refusal {
	const char *config, *word;
};

static void test_bad_scripts(void **state)
{
	static const struct refusal refusals[] = {
		{ "npu-v3?fault=", "nothing follows" },
		{ "npu-v3?fault=,", "no kind" },
		{ "npu-v3?fault=hang,", "last ','" },
		{ "npu-v3?fault=hangs", "no kind" },
		{ "npu-v3?fault=Hang", "no kind" },
		{ "npu-v3?fault=hang#", "'#'" },
		{ "npu-v3?fault=hang#0", "'#'" },
		{ "npu-v3?fault=hang#-1", "'#'" },
		{ "npu-v3?fault=hang#99999999999999999999", "'#'" },
		{ "npu-v3?fault=hang@", "'@'" },
		{ "npu-v3?fault=hang@x", "'@'" },
		{ "npu-v3?fault=hang/0", "'/'" },
		{ "npu-v3?fault=hang/", "'/'" },
		{ "npu-v3?fault=hang:5", "slow-dma" },
		{ "npu-v3?fault=slow-dma:", "slow-dma" },
		{ "npu-v3?fault=hang#1@2", "does not end" },
		{ "npu-v3?fault=hang#1 ", "does not end" },
		{ "npu-v3?fault=hang#1/2/3", "does not end" },
		{ "npu-v3?fault=hang&fault=dead", "twice" },
		{ "npu-v3?faults=hang", "no key" },
		{ "npu-v3?fault=hang&clusters=99", "clusters" },
		{ "npu-v3?fault=hang,hang,hang,hang,hang,hang,hang,hang,hang,hang,hang,hang,hang,"
		  "hang,hang,hang,hang", "more than 16" },
	};
	char error[256], longest[2000];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		error[0] = '\0';
		assert_null(npu_model_create(refusals[i].config, &board_host_ops, NULL, error,
					     sizeof(error)));
		if (!strstr(error, refusals[i].word))
			fail_msg("%s: '%s' does not say '%s'", refusals[i].config, error,
				 refusals[i].word);
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_null(npu_model_create(longest, &board_host_ops, NULL, error, sizeof(error)));
	memcpy(longest, "npu-v3?fault=", 13);
	assert_null(npu_model_create(longest, &board_host_ops, NULL, error, sizeof(error)));
}

/* All that the grammar has, and the configuration's other keys on both sides. */
static void test_good_scripts(void **state)
{
	struct npu_fault_script script;
	char rest[64], error[256];

	(void)state;
	assert_int_equal(npu_fault_script_take(
				 "npu-v3?clusters=2&fault=hang#5/10,slow-dma@7/3:9&slots=2", rest,
				 sizeof(rest), &script, error, sizeof(error)), 0);
	assert_string_equal(rest, "npu-v3?clusters=2&slots=2");
	assert_int_equal(script.count, 2);
	assert_int_equal(script.fault[0].kind, NPU_INJECT_HANG);
	assert_int_equal(script.fault[0].first, 5);
	assert_int_equal(script.fault[0].every, 10);
	assert_false(script.fault[0].timed);
	assert_int_equal(script.fault[1].kind, NPU_INJECT_SLOW_DMA);
	assert_true(script.fault[1].timed);
	assert_int_equal(script.fault[1].time, 7);
	assert_int_equal(script.fault[1].every, 3);
	assert_int_equal(script.fault[1].argument, 9);
	for (unsigned int kind = 0; kind < NPU_INJECT_KINDS; kind++) {
		const char *help = NULL;
		const char *name = npu_fault_kind_name(kind, &help);

		assert_int_equal(npu_fault_script_parse(name, &script, error, sizeof(error)), 0);
		assert_int_equal(script.fault[0].kind, kind);
		assert_non_null(help);
	}
	assert_null(npu_fault_kind_name(NPU_INJECT_KINDS, NULL));
	assert_int_equal(npu_fault_script_take("npu-v3", rest, 3, &script, error, sizeof(error)),
			 -22);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_stuck_killed),
		cmocka_unit_test(test_stuck_alone),
		cmocka_unit_test(test_drop_irq),
		cmocka_unit_test(test_ecc_corrected),
		cmocka_unit_test(test_ecc_uncorrected),
		cmocka_unit_test(test_fw_crash),
		cmocka_unit_test(test_fw_silence),
		cmocka_unit_test(test_slow_dma),
		cmocka_unit_test(test_tlb_hang),
		cmocka_unit_test(test_over_temperature),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_bad_scripts),
		cmocka_unit_test(test_good_scripts),
	};

	if (argc != 2)
		return 1;
	booted_image = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
