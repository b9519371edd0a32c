// SPDX-License-Identifier: MIT
/* Firmware that is damaged, dies, or dies later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "firmware.h"
#include "npu/npu_firmware.h"
#include "objects.h"
#include "rig.h"
#include "sha256.h"
#include "sim.h"

/* Opens a device with an image; returns what npurt_open() does. */
static int open_with(const void *image, size_t bytes, struct npurt_device **device)
{
	char path[] = "/tmp/npurt-firmware-XXXXXX";
	int fd = mkstemp(path), ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, bytes), (ssize_t)bytes);
	close(fd);
	setenv("NPU_FIRMWARE", path, 1);
	ret = npurt_open("sim:?memory=64", device);
	unsetenv("NPU_FIRMWARE");
	unlink(path);
	return ret;
}

static void test_from_file(void **state)
{
	unsigned char *copy = malloc(npurt_firmware_bytes);
	struct npurt_device *device = NULL;

	(void)state;
	memcpy(copy, npurt_firmware, npurt_firmware_bytes);
	if (open_with(copy, npurt_firmware_bytes, &device))
		fail_msg("%s", npurt_last_error());
	npurt_close(device);
	copy[npurt_firmware_bytes - 1] ^= 1;
	assert_int_equal(open_with(copy, npurt_firmware_bytes, &device), -EIO);
	assert_says("SHA-256");
	copy[0] ^= 1;
	assert_int_equal(open_with(copy, npurt_firmware_bytes, &device), -EIO);
	assert_says("not a firmware image");
	assert_int_equal(open_with(npurt_firmware, 20, &device), -EIO);
	assert_says("shorter than a header");
	assert_int_equal(open_with(npurt_firmware, 0, &device), -EINVAL);
	free(copy);
}

struct image {
	struct npu_fw_header header;
	uint32_t code[16];
};

static void seal(struct image *image)
{
	struct sha256 hash;

	image->header = (struct npu_fw_header){
		.magic = NPU_FW_MAGIC,
		.header_version = NPU_FW_HEADER_VERSION,
		.header_size = NPU_FW_HEADER_SIZE,
		.hardware_min = 0,
		.hardware_max = UINT32_MAX,
		.payload_size = sizeof(image->code),
		.load_address = NPU_FW_TCM_BASE + 0x1000,
		.entry = NPU_FW_TCM_BASE + 0x1000,
		.abi_major = 1,
		.version = "by-hand",
	};
	sha256_init(&hash);
	sha256_update(&hash, &image->header, NPU_FW_DIGEST_OFFSET);
	sha256_update(&hash, image->code, sizeof(image->code));
	sha256_final(&hash, image->header.digest);
}

#define LUI_T0_MMIO 0x400002b7u		/* lui t0, 0x40000 */
#define LUI_T2_CORE 0x400083b7u		/* lui t2, 0x40008 */
#define LI_T1_1 0x00100313u		/* li t1, 1 */
#define SW_STATE 0x1062ac23u		/* sw t1, 0x118(t0) */
#define SW_PANIC 0x0263aa23u		/* sw t1, 0x34(t2) */
#define LI_T3_2 0x00200e13u		/* li t3, 2: NPU_CORE_IRQ_MAILBOX */
#define SW_IRQ_ENABLE 0x01c3a223u	/* sw t3, 4(t2) */
#define LUI_T3_1 0x00001e37u		/* lui t3, 1 */
#define SRLI_T3_1 0x001e5e13u		/* srli t3, t3, 1: MEIE */
#define CSRW_MIE 0x304e1073u		/* csrw mie, t3 */
#define WFI 0x10500073u
#define JUMP_BACK 0xffdff06fu		/* j .-4 */

static void test_dies_at_once(void **state)
{
	struct image image = {
		.code = { LUI_T2_CORE, LI_T1_1, SW_PANIC, WFI, JUMP_BACK },
	};
	struct npurt_device *device = NULL;

	(void)state;
	seal(&image);
	assert_int_equal(open_with(&image, sizeof(image), &device), -EIO);
	assert_says("died while starting");
	assert_null(device);
}

/* It sleeps until the first message, which is its end. */
static void test_dies_when_spoken_to(void **state)
{
	struct image image = {
		.code = { LUI_T0_MMIO, LUI_T2_CORE, LI_T1_1, LI_T3_2, SW_IRQ_ENABLE, LUI_T3_1,
			  SRLI_T3_1, CSRW_MIE, SW_STATE, WFI, SW_PANIC, WFI, JUMP_BACK },
	};
	struct npurt_device *device = NULL;

	(void)state;
	seal(&image);
	assert_int_equal(open_with(&image, sizeof(image), &device), -ENODEV);
	assert_says("greeting the firmware");
	assert_null(device);
}

static void *kill_device(void *argument)
{
	struct timespec moment = { .tv_nsec = 20000000 };
	struct npurt_device *device = argument;
	struct sim *sim = (struct sim *)device->backend;

	nanosleep(&moment, NULL);
	sim_died(sim, sim_generation(sim), "its firmware died");
	return NULL;
}

/* The control core dies under a task: whoever sleeps is told, and what comes after it runs. */
static void test_dies_later(void **state)
{
	struct tiny_options tiny = { .kind = TINY_SLOW, .trips = 1u << 20 };
	struct npurt_task_report report = { .size = sizeof(report) };
	struct npurt_context *context;
	struct npurt_future *future;
	pthread_t thread;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &tiny);
	assert_int_equal(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future), 0);
	assert_int_equal(pthread_create(&thread, NULL, kill_device, rig.device), 0);
	assert_int_equal(npurt_future_wait(future, NPURT_FOREVER), -EIO);
	assert_says("task 1 of model 'tiny'");
	assert_says("its firmware died");
	pthread_join(thread, NULL);
	assert_int_equal(npurt_future_get_report(future, &report), -EIO);
	assert_int_equal(npurt_context_create(rig.device, NULL, &context), 0);
	npurt_context_destroy(context);
	npurt_future_release(future);
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_file),
		cmocka_unit_test(test_dies_at_once),
		cmocka_unit_test(test_dies_when_spoken_to),
		cmocka_unit_test(test_dies_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
