// SPDX-License-Identifier: MIT
/*
 * Points of the clock, energy, temperature: clock-and-heat.rst, whose figures are written out here
 * once more.
 */
#include <string.h>

#include "board.h"
#include "npu_model.h"

#define PROGRAM		0x200000
#define SAMPLE		16384ull
#define POINTS		4
#define PASS		1152u		/* cycles of a MAC operation below */

enum { A = 1, B, W };

static const uint64_t thirds[POINTS] = { 3, 4, 6, 12 };
static const uint64_t scale[POINTS] = { 1000, 810, 640, 490 };

/**
 * struct figures - what a configuration uses in a cycle, in pJ
 * @peak:	all that works, at once
 * @leak:	nothing at all
 * @clocks:	of all clusters
 * @mac:	a MAC array
 */
struct figures {
	const char *config;
	uint64_t hz, peak, leak, clocks, mac;
};

static const struct figures large = { "npu-v3", 1000000000, 16896, 768, 4 * 256, 2048 };
static const struct figures small = { "lowpower-v3", 400000000, 1568, 288, 64, 512 };

static uint32_t rd(struct board *board, uint32_t offset)
{
	return npu_model_register_read(board->model, offset);
}

static uint64_t counter(struct board *board, uint32_t offset)
{
	uint64_t low = rd(board, offset);

	return (uint64_t)rd(board, offset + 4) << 32 | low;
}

static void set_clock(struct board *board, uint32_t work, uint32_t rest)
{
	npu_model_core_write(board->model, NPU_REG_CORE_CLOCK, work | rest << 8);
}

static void wait(struct board *board, uint64_t cycles)
{
	npu_model_skip(board->model, cycles);
}

/* Until the next sample has been taken. */
static void wait_for_sample(struct board *board)
{
	wait(board, SAMPLE - npu_model_time(board->model) % SAMPLE);
}

static struct board *create(const char *config)
{
	struct board *board = board_create(config);

	board_simple(board);
	return board;
}

/* All clusters' MAC arrays, for so many passes of a 3 x 3 convolution of whatever is there. */
static struct program mac_program(struct board *board, uint32_t passes)
{
	unsigned int clusters = board->model->config.clusters;
	uint32_t channels = board->model->config.mac_channels;
	struct program program = program_begin(board, 0, PROGRAM, clusters);
	struct npu_td from = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 8, 16, channels);
	struct npu_td weights = dense(NPU_SPACE_LOCAL, 0, 0, NPU_DTYPE_INT8, 1, 9, channels,
				      channels);
	struct npu_window window = {
		.out_height = 8, .out_width = 16, .kernel_height = 3, .kernel_width = 3,
		.stride_y = 1, .stride_x = 1, .dilation_y = 1, .dilation_x = 1,
	};

	for (unsigned int i = 0; i < clusters; i++) {
		program_stream(&program, i);
		program_descriptor(&program, A, &from);
		program_descriptor(&program, B, &weights);
		program_descriptor(&program, W, &window);
		program_emit(&program, INSN(.opcode = NPU_OP_LOOP, .imm32 = passes));
		program_emit(&program, INSN(.opcode = NPU_OP_MAC, .subop = NPU_MAC_SHAPE_M,
					    .src = { A, B, W }, .imm32 = channels));
		program_emit(&program, INSN(.opcode = NPU_OP_ENDLOOP));
		program_emit(&program, INSN(.opcode = NPU_OP_END));
	}
	program_finish(&program);
	return program;
}

static void test_registers(void **state)
{
	static const struct figures *const both[] = { &large, &small };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct board *board = board_create(both[i]->config);

		assert_int_equal(rd(board, NPU_REG_CLOCK_HZ), both[i]->hz);
		assert_int_equal(rd(board, NPU_REG_CLOCK_POINTS), POINTS);
		for (unsigned int p = 0; p < POINTS; p++)
			assert_int_equal(rd(board, NPU_REG_CLOCK_POINT_HZ(p)),
					 both[i]->hz * 3 / thirds[p]);
		assert_int_equal(rd(board, NPU_REG_CLOCK_POINT_HZ(POINTS)), 0);
		assert_int_equal(rd(board, NPU_REG_CLOCK), 0);
		assert_int_equal(rd(board, NPU_REG_TEMPERATURE), 25000);
		assert_int_equal(rd(board, NPU_REG_HEAT_COOL), 85000);
		assert_int_equal(rd(board, NPU_REG_HEAT_HOT), 95000);
		assert_int_equal(rd(board, NPU_REG_HEAT_TRIP), 110000);
		assert_int_equal(rd(board, NPU_REG_POWER), 0);
		board_destroy(board);
	}
}

/* The host changes nothing, and the control core nothing by points that are not there. */
static void test_writes(void **state)
{
	static const uint32_t refused[] = { 4, 0x400, 0xff, 0xff00, 0x0104, 0x0401, ~0u };
	struct board *board = board_create(NULL);

	(void)state;
	for (uint32_t offset = NPU_REG_COUNTER_ENERGY_LO; offset < 0x760; offset += 4)
		npu_model_register_write(board->model, offset, 1);
	npu_model_register_write(board->model, NPU_REG_CORE_CLOCK, 0x0101);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0);
	assert_int_equal(rd(board, NPU_REG_CORE_CLOCK), 0);
	assert_int_equal(rd(board, NPU_REG_TEMPERATURE), 25000);
	set_clock(board, 1, 3);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0x030301);
	for (unsigned int i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		npu_model_core_write(board->model, NPU_REG_CORE_CLOCK, refused[i]);
		assert_int_equal(rd(board, NPU_REG_CLOCK), 0x030301);
	}
	/* Rest may be faster; the bits above are reserved. */
	npu_model_core_write(board->model, NPU_REG_CORE_CLOCK, 0xffff0002);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0x000002);
	npu_model_reset(board->model);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0);
	board_destroy(board);
}

/* A point changes no cycle; the task's are at the point for work, all others at that for rest. */
static void test_points(void **state)
{
	uint64_t cycles[POINTS];

	(void)state;
	for (unsigned int p = 0; p < POINTS; p++) {
		unsigned int rest = (p + 1) % POINTS;
		struct board *board = create(NULL);
		struct program program = mac_program(board, 10);
		uint64_t before[POINTS], sum = 0;
		const struct npu_record *record;

		set_clock(board, p, rest);
		for (unsigned int i = 0; i < POINTS; i++)
			before[i] = counter(board, NPU_REG_COUNTER_POINT_LO(i));
		record = board_execute(board, &program, NULL, 0);
		cycles[p] = record->end - record->start;
		assert_int_equal(cycles[p], cycles[0]);
		assert_int_equal(counter(board, NPU_REG_COUNTER_POINT_LO(p)) - before[p],
				 cycles[p]);
		for (unsigned int i = 0; i < POINTS; i++)
			sum += counter(board, NPU_REG_COUNTER_POINT_LO(i));
		assert_int_equal(sum, npu_model_time(board->model));
		assert_int_equal(rd(board, NPU_REG_CLOCK) >> 16, rest);
		board_destroy(board);
	}
}

/* While it runs the device is at work, until whatever ends it. */
static void test_work_ends(void **state)
{
	struct board *board = create(NULL);
	struct program program = mac_program(board, 1000);
	struct npu_packet_exec exec = exec_packet(&program, 1, 0, 0, 0);

	(void)state;
	set_clock(board, 1, 2);
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	npu_model_run(board->model, 50000);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0x010201);
	board_control(board, 0, NPU_SLOT_KILL);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0x020201);
	board_run(board, 100000);
	board_attach(board, 0, 0);
	board_push(board, 0, &exec);
	board_grant(board, 0, 0xf, 0, board->model->config.global_bytes);
	board_ring_doorbell(board, 0);
	npu_model_run(board->model, 50000);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0x010201);
	npu_model_reset(board->model);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0);
	set_clock(board, 1, 2);
	assert_int_equal(rd(board, NPU_REG_CLOCK), 0x020201);
	board_destroy(board);
}

/* The manual's arithmetic, of a device without work. */
struct reference {
	uint64_t rise, energy;
};

static void reference_sample(struct reference *to, const struct figures *figures, unsigned int p,
			     uint64_t cycles, uint64_t rise, uint64_t slowness)
{
	uint64_t t = cycles * thirds[p];
	uint64_t e = (3 * figures->clocks * cycles + figures->leak * t) * scale[p] / 3000;
	uint64_t down = to->rise * t / (3 * slowness);

	to->energy += e;
	to->rise += rise * 1000000 * e / (figures->peak * slowness);
	to->rise -= down;
}

static void check_rest(const struct figures *figures, unsigned int point)
{
	struct board *board = board_create(figures->config);
	struct reference reference = { 0 };

	if (point)
		set_clock(board, 0, point);
	for (unsigned int i = 0; i < 5000; i++) {
		reference_sample(&reference, figures, point, SAMPLE, 60, 20000000);
		wait_for_sample(board);
		assert_int_equal(rd(board, NPU_REG_TEMPERATURE), 25000 + reference.rise / 1000);
		assert_int_equal(counter(board, NPU_REG_COUNTER_ENERGY_LO),
				 reference.energy / 1000000);
	}
	/* pJ in a nominal cycle, times MHz. */
	assert_int_equal(rd(board, NPU_REG_POWER),
			 reference.energy / 5000 * 3 * (figures->hz / 1000000) /
				 (SAMPLE * thirds[point] * 1000));
	assert_true(reference.rise > 1000000);
	board_destroy(board);
}

static void test_rest(void **state)
{
	(void)state;
	for (unsigned int point = 0; point < POINTS; point++) {
		check_rest(&large, point);
		check_rest(&small, point);
	}
}

/* Hours without anything are the same as many short whiles. */
static void test_long_rest(void **state)
{
	struct board *once = create("npu-v3?ambient=40");
	struct board *often = create("npu-v3?ambient=40");
	uint64_t end = npu_model_time(once->model) + 20000000123ull;
	unsigned int turns = 0;

	(void)state;
	set_clock(once, 0, 1);
	set_clock(often, 0, 1);
	wait(once, 20000000123ull);
	while (npu_model_time(often->model) < end) {
		uint64_t left = end - npu_model_time(often->model);
		uint64_t step = 1000 + turns++ * 7919 % 1600000;

		wait(often, step < left ? step : left);
	}
	assert_int_equal(npu_model_time(once->model), end);
	assert_memory_equal(&once->model->heat, &often->model->heat, sizeof(struct npu_heat));
	assert_memory_equal(&once->model->clock, &often->model->clock, sizeof(struct npu_clock));
	/* A device that is at rest for a year is asked for no more turns than one for an hour. */
	wait(once, 1ull << 55);
	assert_int_equal(npu_model_time(once->model), end + (1ull << 55));
	assert_int_equal(rd(once, NPU_REG_TEMPERATURE), rd(often, NPU_REG_TEMPERATURE));
	board_destroy(once);
	board_destroy(often);
}

/* Energy, exactly but for what each sample rounds down. */
static uint64_t picojoules(struct board *board)
{
	npu_heat_account(board->model);
	return board->model->heat.energy * 1000000 + board->model->heat.energy_rest;
}

static void check_energy(const struct figures *figures, unsigned int point)
{
	struct board *board = create(figures->config);
	struct program program = mac_program(board, 20);
	const struct npu_record *record;
	uint64_t before, begin, cycles, work, expected, used;

	set_clock(board, point, point);
	before = picojoules(board);
	begin = npu_model_time(board->model);
	record = board_execute(board, &program, NULL, 0);
	cycles = npu_model_time(board->model) - begin;
	assert_true(record->mac_cycles >= 20u * PASS * board->model->config.clusters);
	assert_int_equal(record->vector_cycles + record->out_cycles + record->dma_cycles, 0);
	work = record->mac_cycles * figures->mac + record->dram_read * 2048ull +
	       cycles * figures->clocks;
	expected = (3 * work + figures->leak * cycles * thirds[point]) * scale[point] / 3000;
	used = picojoules(board) - before;
	assert_in_range(used, expected - cycles / SAMPLE - 2, expected);
	board_destroy(board);
}

static void test_energy(void **state)
{
	(void)state;
	for (unsigned int point = 0; point < POINTS; point++) {
		check_energy(&large, point);
		check_energy(&small, point);
	}
}

/* Work that nobody has an account of: of a task that is killed in the middle of it. */
static void test_killed_work(void **state)
{
	struct board *board = create(NULL);
	struct program program = mac_program(board, 1000);
	struct npu_packet_exec exec = exec_packet(&program, 1, 0, 0, 0);
	uint64_t before, begin, cycles, idle, used;

	(void)state;
	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
	/* In the middle of a pass, and all the time at it. */
	npu_model_run(board->model, 10 * PASS);
	before = picojoules(board);
	begin = npu_model_time(board->model);
	npu_model_run(board->model, PASS / 3);
	board_control(board, 0, NPU_SLOT_KILL);
	cycles = npu_model_time(board->model) - begin;
	used = picojoules(board) - before;
	assert_int_equal(cycles, PASS / 3);
	idle = (large.clocks + large.leak) * cycles;
	assert_int_equal(used, idle + 4 * large.mac * cycles);
	board_run(board, 100000);
	board_destroy(board);
}

/* COPY: the channel's cycles, and bursts when it has ended. */
static void test_copy(void **state)
{
	struct board *board = create(NULL);
	struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.source = board_va(board, 0x100000),
		.destination = board_va(board, 0x110000),
		.bytes = 65536,
		.signal_sem = NPU_SEM_NONE,
	};
	uint64_t before = picojoules(board), begin = npu_model_time(board->model), cycles, used;

	(void)state;
	board_push(board, 0, &copy);
	board_ring_doorbell(board, 0);
	board_run(board, 100000);
	cycles = npu_model_time(board->model) - begin;
	used = picojoules(board) - before;
	assert_int_equal(used, (large.clocks + large.leak) * cycles + 2048 * 2 * 256 +
				       2 * 1024 * 2048);
	board_destroy(board);
}

/* One task of however many bytes makes no sample hotter than all that works at once does. */
static void test_long_copy(void **state)
{
	struct board *board = create("npu-v3?heat_kcycles=300");
	struct npu_packet_copy copy = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.source = board_va(board, 8 << 20),
		.destination = board_va(board, 36 << 20),
		.bytes = 24 << 20,
		.signal_sem = NPU_SEM_NONE,
	};
	/* Thousandths: 60 K come in 300,000 cycles, by all at once. */
	const uint32_t most = (uint32_t)(60000 * SAMPLE / 300000 + 1);
	const uint64_t bursts = 2 * (24u << 20) / 64;
	uint64_t before = picojoules(board), begin = npu_model_time(board->model), cycles;
	uint32_t last = rd(board, NPU_REG_TEMPERATURE), now;

	(void)state;
	board_push(board, 0, &copy);
	board_ring_doorbell(board, 0);
	for (unsigned int i = 0; i < 300; i++) {
		npu_model_run(board->model, SAMPLE - npu_model_time(board->model) % SAMPLE);
		if (npu_model_idle(board->model))
			wait_for_sample(board);
		now = rd(board, NPU_REG_TEMPERATURE);
		assert_true(now <= last + most);
		last = now;
	}
	/* And none of it is lost. */
	cycles = npu_model_time(board->model) - begin;
	assert_int_equal(picojoules(board) - before, (large.clocks + large.leak) * cycles +
						     bursts * 64 / 32 * 256 + bursts * 2048);
	board_destroy(board);
}

/* Clusters that sleep have no clock. */
static void test_sleep(void **state)
{
	struct board *board = create(NULL);
	uint64_t before;

	(void)state;
	npu_model_core_write(board->model, NPU_REG_CORE_SLEEP, 0x7);
	before = picojoules(board);
	wait(board, 1000);
	assert_int_equal(picojoules(board) - before, 1000 * (256 + large.leak));
	/* ... for as long as it may be. */
	before = picojoules(board);
	wait(board, 5000000000ull);
	assert_in_range(picojoules(board) - before, 5000000000ull * (256 + large.leak) - 400000,
			5000000000ull * (256 + large.leak));
	board_destroy(board);
}

/* In whatever steps time passes, and whoever looks in between: the same samples. */
static void test_steps(void **state)
{
	static uint32_t seen[2][2000];
	struct npu_heat heat[2];

	(void)state;
	for (unsigned int turn = 0; turn < 2; turn++) {
		struct board *board = create("npu-v3?heat_kcycles=300&ambient=30");
		struct program program = mac_program(board, 800);
		struct npu_packet_exec exec = exec_packet(&program, 1, 0, 0, 0);
		uint64_t step = turn ? 977 : SAMPLE;
		unsigned int samples = 0;

		set_clock(board, 0, 2);
		board_push(board, 0, &exec);
		board_ring_doorbell(board, 0);
		while (samples < 60) {
			uint64_t to_sample = SAMPLE - npu_model_time(board->model) % SAMPLE;

			npu_model_run(board->model, step < to_sample ? step : to_sample);
			if (turn)
				counter(board, NPU_REG_COUNTER_POINT_LO(0));
			if (npu_model_time(board->model) % SAMPLE == 0)
				seen[turn][samples++] = rd(board, NPU_REG_TEMPERATURE);
			if (npu_model_idle(board->model))
				break;
		}
		assert_true(samples > 50);
		seen[turn][samples++] = rd(board, NPU_REG_POWER);
		heat[turn] = board->model->heat;
		board_destroy(board);
	}
	assert_memory_equal(seen[0], seen[1], sizeof(seen[0]));
	assert_true(seen[0][50] > seen[0][0] + 10000);
	assert_memory_equal(&heat[0], &heat[1], sizeof(heat[0]));
}

static bool hot_pending(struct board *board)
{
	return npu_model_core_read(board->model, NPU_REG_CORE_IRQ_PENDING) & NPU_CORE_IRQ_HEAT;
}

static void start_work(struct board *board, const struct program *program)
{
	struct npu_packet_exec exec = exec_packet(program, 1, 0, 0, 0);

	board_push(board, 0, &exec);
	board_ring_doorbell(board, 0);
}

/* Raised when it is hot, and again only after it has been cool. */
static void test_hot(void **state)
{
	struct board *board = create("npu-v3?heat_kcycles=300&ambient=70");
	struct program program = mac_program(board, 5000);
	uint32_t at_most = 0;

	(void)state;
	start_work(board, &program);
	while (!hot_pending(board)) {
		assert_true(rd(board, NPU_REG_TEMPERATURE) < 95000);
		assert_false(npu_model_run(board->model, SAMPLE));
	}
	assert_true(rd(board, NPU_REG_TEMPERATURE) >= 95000);
	npu_model_core_write(board->model, NPU_REG_CORE_IRQ_PENDING, NPU_CORE_IRQ_HEAT);
	/* Slower it is less hot, but not cool; then hot once more, which is no news. */
	set_clock(board, 1, 1);
	while (rd(board, NPU_REG_TEMPERATURE) >= 93000)
		assert_false(npu_model_run(board->model, SAMPLE));
	set_clock(board, 0, 0);
	for (unsigned int i = 0; i < 40; i++) {
		assert_false(npu_model_run(board->model, SAMPLE));
		if (rd(board, NPU_REG_TEMPERATURE) > at_most)
			at_most = rd(board, NPU_REG_TEMPERATURE);
	}
	assert_true(at_most >= 95000);
	assert_false(hot_pending(board));
	set_clock(board, 3, 3);
	while (rd(board, NPU_REG_TEMPERATURE) > 85000)
		assert_false(npu_model_run(board->model, SAMPLE));
	assert_false(hot_pending(board));
	set_clock(board, 0, 0);
	while (rd(board, NPU_REG_TEMPERATURE) < 95000)
		assert_false(npu_model_run(board->model, SAMPLE));
	assert_true(hot_pending(board));
	board_destroy(board);
}

/* No firmware at all: the device looks after itself. */
static void test_trip(void **state)
{
	struct board *board = create("npu-v3?heat_kcycles=300&ambient=90");
	struct program program = mac_program(board, 4000);
	uint64_t time;

	(void)state;
	npu_model_register_write(board->model, NPU_REG_IRQ_ENABLE, ~0u);
	start_work(board, &program);
	while (!rd(board, NPU_REG_ERROR_STATUS)) {
		assert_true(rd(board, NPU_REG_TEMPERATURE) < 110000);
		npu_model_run(board->model, SAMPLE);
	}
	assert_int_equal(rd(board, NPU_REG_ERROR_STATUS), NPU_ERROR_STATUS_TEMPERATURE);
	assert_int_equal(board->irq_count[3], 1);
	assert_true(rd(board, NPU_REG_TEMPERATURE) >= 110000);
	time = npu_model_time(board->model);
	assert_int_equal(time % SAMPLE, 0);
	assert_true(npu_model_run(board->model, 1000000));
	wait(board, 1000000);
	assert_int_equal(npu_model_time(board->model), time);
	assert_true(rd(board, NPU_REG_TEMPERATURE) >= 110000);
	npu_model_reset(board->model);
	assert_int_equal(rd(board, NPU_REG_TEMPERATURE), 90000);
	wait(board, 10 * SAMPLE);
	assert_int_equal(npu_model_time(board->model), time + 10 * SAMPLE);
	assert_int_equal(rd(board, NPU_REG_ERROR_STATUS), 0);
	board_destroy(board);
}

/* A reset does not cool, power off does; who is hot is told so after a reset, too. */
static void test_reset(void **state)
{
	struct board *board = create("npu-v3?heat_kcycles=300&ambient=80");
	struct program program = mac_program(board, 4000);
	uint32_t hot;

	(void)state;
	start_work(board, &program);
	while (!hot_pending(board))
		assert_false(npu_model_run(board->model, SAMPLE));
	hot = rd(board, NPU_REG_TEMPERATURE);
	npu_model_reset(board->model);
	assert_false(hot_pending(board));
	assert_int_equal(rd(board, NPU_REG_TEMPERATURE), hot);
	assert_int_equal(counter(board, NPU_REG_COUNTER_ENERGY_LO), 0);
	assert_int_equal(counter(board, NPU_REG_COUNTER_POINT_LO(0)), 0);
	assert_int_equal(rd(board, NPU_REG_POWER), 0);
	board->model->heat.rise += 2000000;
	wait_for_sample(board);
	assert_true(hot_pending(board));
	npu_model_power_cycle(board->model);
	assert_int_equal(rd(board, NPU_REG_TEMPERATURE), 80000);
	wait_for_sample(board);
	assert_false(hot_pending(board));
	board_destroy(board);
}

/* Cooling is made for the device: nothing makes it hot in air of 25 degrees. */
static void test_never_hot(void **state)
{
	static const char *const configs[] = {
		"npu-v3", "lowpower-v3", "npu-v3?clusters=8&mac_channels=64&clock_mhz=4000",
		"lowpower-v3?dram_bytes=64&vector_bytes=1024", "npu-v3?clock_mhz=1",
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		struct npu_model *model = board_create(configs[i])->model;
		struct npu_config *config = &model->config;
		uint64_t sum = 0;

		/* As if all engines had been at work for the whole sample. */
		for (unsigned int turn = 0; turn < 20000; turn++) {
			struct npu_heat *heat = &model->heat;

			for (unsigned int j = NPU_ENGINE_MAC; j < NPU_ENGINE_COUNT; j++)
				heat->worked[j] = config->clusters * SAMPLE;
			heat->worked[NPU_ENGINE_DMA0] =
				(config->clusters * config->dma_channels + 1) * SAMPLE;
			model->counters.dram_read += SAMPLE * config->dram_bytes / 64;
			npu_model_skip(model, SAMPLE);
			sum = heat->rise;
		}
		assert_in_range(sum, 59990000, 60000000);
		assert_int_equal(npu_model_core_read(model, NPU_REG_CORE_IRQ_PENDING), 0);
		board_destroy(model->host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_work_ends),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_long_rest),
		cmocka_unit_test(test_energy),
		cmocka_unit_test(test_killed_work),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_long_copy),
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_hot),
		cmocka_unit_test(test_trip),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_never_hot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
