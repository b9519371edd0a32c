// SPDX-License-Identifier: MIT
/* Registers as registers.rst has them, and the control core's place in the device. */
#include <string.h>

#include "board.h"
#include "npu/npu_firmware.h"
#include "sha256.h"

static uint32_t rd(struct board *board, uint32_t offset)
{
	return npu_model_register_read(board->model, offset);
}

static void wr(struct board *board, uint32_t offset, uint32_t value)
{
	npu_model_register_write(board->model, offset, value);
}

static uint32_t core_rd(struct board *board, uint32_t offset)
{
	return npu_model_core_read(board->model, offset);
}

static void core_wr(struct board *board, uint32_t offset, uint32_t value)
{
	npu_model_core_write(board->model, offset, value);
}

static void test_capabilities(void **state)
{
	struct board *board = board_create("npu-v3");
	uint32_t name[4];

	(void)state;
	assert_int_equal(rd(board, NPU_REG_ID), NPU_ID_VALUE);
	assert_int_equal(rd(board, NPU_REG_HW_VERSION), NPU_HW_VERSION);
	assert_int_equal(rd(board, NPU_REG_CLUSTERS), 4);
	assert_int_equal(rd(board, NPU_REG_LOCAL_BYTES), 512 << 10);
	assert_int_equal(rd(board, NPU_REG_GLOBAL_BYTES), 4 << 20);
	assert_int_equal(rd(board, NPU_REG_ACC_BYTES), 64 << 10);
	assert_int_equal(rd(board, NPU_REG_DMA_CHANNELS), 8);
	assert_int_equal(rd(board, NPU_REG_DRAM_BYTES_PER_CYCLE), 32);
	assert_int_equal(rd(board, NPU_REG_DRAM_LATENCY), 120);
	assert_int_equal(rd(board, NPU_REG_CLOCK_HZ), 1000000000);
	assert_int_equal(rd(board, NPU_REG_QUEUES), 64);
	assert_int_equal(rd(board, NPU_REG_SLOTS), 8);
	assert_int_equal(rd(board, NPU_REG_SEMAPHORES), 256);
	for (unsigned int i = 0; i < 4; i++)
		name[i] = rd(board, NPU_REG_CONFIG_NAME + 4 * i);
	assert_string_equal((const char *)name, "npu-v3");
	/* Read only; misaligned and unknown ones read 0. */
	wr(board, NPU_REG_CLUSTERS, 7);
	assert_int_equal(rd(board, NPU_REG_CLUSTERS), 4);
	assert_int_equal(rd(board, NPU_REG_CLUSTERS + 1), 0);
	assert_int_equal(rd(board, 0x7ffc), 0);
	assert_int_equal(rd(board, 0xfffffffc), 0);
	board_destroy(board);
}

/* The host neither reads nor writes what is the core's. */
static void test_core_only(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	core_wr(board, NPU_REG_CORE_IRQ_ENABLE, 0xf);
	core_wr(board, NPU_REG_QUEUE(3) + NPU_QUEUE_RING_LO, 0x1000);
	core_wr(board, NPU_REG_FW_ALIVE, 17);
	assert_int_equal(rd(board, NPU_REG_CORE_IRQ_ENABLE), 0);
	assert_int_equal(rd(board, NPU_REG_QUEUE(3) + NPU_QUEUE_RING_LO), 0);
	wr(board, NPU_REG_CORE_IRQ_ENABLE, 0);
	wr(board, NPU_REG_QUEUE(3) + NPU_QUEUE_RING_LO, 0);
	wr(board, NPU_REG_FW_ALIVE, 1);
	assert_int_equal(core_rd(board, NPU_REG_CORE_IRQ_ENABLE), 0xf);
	assert_int_equal(core_rd(board, NPU_REG_QUEUE(3) + NPU_QUEUE_RING_LO), 0x1000);
	assert_int_equal(rd(board, NPU_REG_FW_ALIVE), 17);
	board_destroy(board);
}

/* The high word is that of the moment the low one was read, on each side for itself. */
static void test_tear_free(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	board->model->now = 0x1ffffffffull;
	assert_int_equal(rd(board, NPU_REG_TIME_LO), 0xffffffff);
	board->model->now = 0x200000005ull;
	assert_int_equal(core_rd(board, NPU_REG_CORE_TIME_LO), 5);
	assert_int_equal(rd(board, NPU_REG_TIME_HI), 1);
	assert_int_equal(core_rd(board, NPU_REG_CORE_TIME_HI), 2);
	board->model->counters.dram_read = (1ull << 32) / 64 + 1;
	assert_int_equal(rd(board, NPU_REG_COUNTER_DRAM_READ_LO), 64);
	assert_int_equal(rd(board, NPU_REG_COUNTER_DRAM_READ_HI), 1);
	board_destroy(board);
}

static void test_mailbox(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	board->irqs = 0;
	for (unsigned int i = 0; i < 16; i++)
		wr(board, NPU_REG_MAILBOX_TO_FW + 4 * i, 100 + i);
	wr(board, NPU_REG_MAILBOX_TO_FW_SEND, 1);
	assert_int_equal(core_rd(board, NPU_REG_CORE_IRQ_PENDING), NPU_CORE_IRQ_MAILBOX);
	assert_int_equal(core_rd(board, NPU_REG_MAILBOX_TO_FW_SEND), 1);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(core_rd(board, NPU_REG_MAILBOX_TO_FW + 4 * i), 100 + i);
	/* The core cannot write the host's words, nor the host clear its own pending. */
	core_wr(board, NPU_REG_MAILBOX_TO_FW, 1);
	wr(board, NPU_REG_MAILBOX_TO_FW_SEND, 0);
	assert_int_equal(rd(board, NPU_REG_MAILBOX_TO_FW), 100);
	assert_int_equal(rd(board, NPU_REG_MAILBOX_TO_FW_SEND), 1);
	core_wr(board, NPU_REG_MAILBOX_TO_FW_SEND, 0);
	core_wr(board, NPU_REG_CORE_IRQ_PENDING, NPU_CORE_IRQ_MAILBOX);
	assert_int_equal(rd(board, NPU_REG_MAILBOX_TO_FW_SEND), 0);
	core_wr(board, NPU_REG_MAILBOX_TO_HOST + 8, 55);
	assert_int_equal(board->irqs, 0);
	core_wr(board, NPU_REG_MAILBOX_TO_HOST_SEND, 1);
	assert_int_equal(board->irqs, NPU_IRQ_MAILBOX);
	assert_int_equal(rd(board, NPU_REG_MAILBOX_TO_HOST + 8), 55);
	/* Taking it is told to the firmware. */
	assert_int_equal(core_rd(board, NPU_REG_CORE_IRQ_PENDING), 0);
	wr(board, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
	assert_int_equal(core_rd(board, NPU_REG_CORE_IRQ_PENDING), NPU_CORE_IRQ_MAILBOX);
	board_destroy(board);
}

static void test_interrupts(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	wr(board, NPU_REG_IRQ_ENABLE, 0);
	board->irqs = 0;
	core_wr(board, NPU_REG_MAILBOX_TO_HOST_SEND, 1);
	assert_int_equal(board->irqs, 0);
	assert_int_equal(rd(board, NPU_REG_IRQ_STATUS), NPU_IRQ_MAILBOX);
	assert_int_equal(npu_model_irq_pending(board->model), 0);
	/* Enabling sends what waited; an unrelated enable does not. */
	wr(board, NPU_REG_IRQ_ENABLE, NPU_IRQ_EVENT);
	assert_int_equal(board->irqs, 0);
	wr(board, NPU_REG_IRQ_ENABLE, 0xffffffff);
	assert_int_equal(rd(board, NPU_REG_IRQ_ENABLE), 0xf);
	assert_int_equal(board->irqs, NPU_IRQ_MAILBOX);
	assert_int_equal(board->irq_count[0], 1);
	assert_int_equal(npu_model_irq_pending(board->model), NPU_IRQ_MAILBOX);
	/* A message is sent each time, whether the status was cleared or not. */
	core_wr(board, NPU_REG_MAILBOX_TO_HOST_SEND, 1);
	assert_int_equal(board->irq_count[0], 2);
	wr(board, NPU_REG_IRQ_STATUS, NPU_IRQ_MAILBOX);
	assert_int_equal(npu_model_irq_pending(board->model), 0);
	board_destroy(board);
}

/* ------------------------------------------------------------ the control core */

/* Boot a program of a few instructions. */
static void boot(struct board *board, const uint32_t *text, unsigned int words)
{
	uint64_t address = board_pages(board, 1);
	uint8_t *image = board_dma(board, address);
	struct npu_fw_header header = {
		.magic = NPU_FW_MAGIC,
		.header_version = NPU_FW_HEADER_VERSION,
		.header_size = NPU_FW_HEADER_SIZE,
		.hardware_min = NPU_HW_VERSION,
		.hardware_max = NPU_HW_VERSION,
		.payload_size = words * 4,
		.load_address = NPU_FW_TCM_BASE,
		.entry = NPU_FW_TCM_BASE,
		.version = "test",
	};
	struct sha256 hash;

	sha256_init(&hash);
	sha256_update(&hash, (const uint8_t *)&header, NPU_FW_DIGEST_OFFSET);
	sha256_update(&hash, (const uint8_t *)text, words * 4);
	sha256_final(&hash, header.digest);
	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), text, words * 4);
	wr(board, NPU_REG_BOOT_ADDRESS_LO, (uint32_t)address);
	wr(board, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(address >> 32));
	wr(board, NPU_REG_BOOT_SIZE, NPU_FW_HEADER_SIZE + words * 4);
	wr(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(rd(board, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RUNNING);
}

#define BOOT(board, ...) \
	boot(board, (const uint32_t[]){ __VA_ARGS__ }, \
	     sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

#define LUI_X5_CORE	0x400082b7u	/* lui x5, 0x40008 */
#define LUI_X6_MMIO	0x40000337u	/* lui x6, 0x40000 */
#define SW_X7_ALIVE	0x10732a23u	/* sw x7, 0x114(x6) */
#define WFI		0x10500073u
#define J_BACK		0xffdff06fu	/* j .-4 */
#define J_SELF		0x0000006fu

/* A core that never sleeps is given no more than it is asked to have. */
static void test_runaway(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	BOOT(board, J_SELF);
	for (unsigned int i = 1; i <= 10; i++) {
		assert_false(npu_model_run(board->model, 1000));
		assert_int_equal(npu_model_time(board->model), i * 1000);
	}
	npu_model_reset(board->model);
	assert_true(npu_model_run(board->model, 1000));
	assert_int_equal(npu_model_time(board->model), 10000);
	board_destroy(board);
}

/* The first load happens after one instruction: the time it reads is the boot's plus one. */
static void test_core_time(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	board->model->now = 500;
	npu_core_reset(board->model);
	BOOT(board, LUI_X5_CORE, 0x0102a383u /* lw x7, 0x10(x5) */, LUI_X6_MMIO, SW_X7_ALIVE, WFI,
	     J_BACK);
	assert_true(npu_model_run(board->model, 1000));
	assert_int_equal(rd(board, NPU_REG_FW_ALIVE), 501);
	/* lui 1, lw 3, lui 1, sw 3, wfi 1 */
	assert_int_equal(npu_model_time(board->model), 509);
	board_destroy(board);
}

/* Time of an idle device stands still, unless somebody lets it pass until the timer. */
static void test_timer(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	BOOT(board, 0x08000313u /* li x6, 128 */, 0x30432073u /* csrs mie, x6 */, LUI_X5_CORE,
	     0x3e800393u /* li x7, 1000 */, 0x0072ac23u /* sw x7, 0x18(x5) */,
	     0x0002ae23u /* sw x0, 0x1c(x5) */, WFI, LUI_X6_MMIO, SW_X7_ALIVE,
	     0xfff00413u /* li x8, -1 */, 0x0082ae23u /* sw x8, 0x1c(x5) */, WFI, J_BACK);
	assert_true(npu_model_run(board->model, 100000));
	assert_int_equal(npu_model_time(board->model), 11);
	assert_int_equal(npu_model_timer(board->model), 989);
	assert_true(npu_model_run(board->model, 100000));
	assert_int_equal(rd(board, NPU_REG_FW_ALIVE), 0);
	npu_model_skip(board->model, 88);
	assert_true(npu_model_run(board->model, 100000));
	assert_int_equal(npu_model_time(board->model), 99);
	npu_model_skip(board->model, UINT64_MAX);
	assert_int_equal(npu_model_time(board->model), 1000);
	assert_true(npu_model_run(board->model, 100000));
	assert_int_equal(rd(board, NPU_REG_FW_ALIVE), 1000);
	assert_true(npu_model_timer(board->model) > 1ull << 60);
	board_destroy(board);
}

/* An exception in a trap handler, and a panic: the host is told, once. */
static void test_death(void **state)
{
	struct board *board = board_create(NULL);

	(void)state;
	board->irqs = 0;
	BOOT(board, 0);	/* illegal; mtvec is 0, where nothing can be executed */
	assert_true(npu_model_run(board->model, 1000));
	assert_int_equal(board->irqs, NPU_IRQ_FATAL);
	assert_int_equal(rd(board, NPU_REG_FW_STATE), NPU_FW_STATE_PANIC);
	wr(board, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	assert_int_equal(rd(board, NPU_REG_FW_STATE), NPU_FW_STATE_RESET);
	wr(board, NPU_REG_IRQ_ENABLE, 0xf);
	board->irqs = 0;
	BOOT(board, LUI_X5_CORE, 0x00500313u /* li x6, 5 */, 0x0262aa23u /* sw x6, 0x34(x5) */,
	     J_SELF);
	assert_true(npu_model_run(board->model, 1000));
	assert_int_equal(board->irqs, NPU_IRQ_FATAL);
	assert_int_equal(board->irq_count[3], 2);
	assert_int_equal(core_rd(board, NPU_REG_CORE_PANIC), 5);
	board_destroy(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_core_only),
		cmocka_unit_test(test_tear_free),
		cmocka_unit_test(test_mailbox),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_runaway),
		cmocka_unit_test(test_core_time),
		cmocka_unit_test(test_timer),
		cmocka_unit_test(test_death),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
