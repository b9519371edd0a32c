// SPDX-License-Identifier: MIT
/* What /proc says of a file: by the kernel's rules, and against them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fdinfo.h"
#include "samples.h"
#include "source.h"

static const char good[] = "pos:\t0\nflags:\t02100002\nmnt_id:\t29\nino:\t400\n"
			   "drm-driver:\tnpu\ndrm-client-id:\t17\ndrm-pdev:\t0000:00:04.0\n"
			   "drm-engine-mac:\t123 ns\ndrm-engine-capacity-mac:\t4\n"
			   "drm-cycles-mac:\t1000\ndrm-maxfreq-mac:\t1000000000 Hz\n"
			   "drm-cycles-vector:\t2000\ndrm-cycles-dma:\t18446744073709551615\n"
			   "drm-total-memory:\t4096 KiB\ndrm-resident-memory:\t3 MiB\n"
			   "npu-tasks:\t5\nnpu-contexts:\t1\nnpu-queues:\t2\n";

static struct top_fdinfo parse(const char *text)
{
	char *copy = strdup(text);
	struct top_fdinfo info;

	assert_non_null(copy);
	top_fdinfo_parse(copy, &info);
	free(copy);
	return info;
}

static void test_good(void **state)
{
	struct top_fdinfo info = parse(good);

	(void)state;
	assert_true(info.is_npu);
	assert_string_equal(info.bus, "0000:00:04.0");
	assert_int_equal(info.client, 17);
	assert_int_equal(info.mac_cycles, 1000);
	assert_int_equal(info.vector_cycles, 2000);
	assert_true(info.dma_cycles == UINT64_MAX);
	assert_int_equal(info.resident_bytes, 3 << 20);
	assert_int_equal(info.tasks, 5);
	assert_int_equal(info.contexts, 1);
	assert_int_equal(info.queues, 2);
}

static void test_others(void **state)
{
	(void)state;
	assert_false(parse("").is_npu);
	assert_false(parse("drm-driver:\ti915\n").is_npu);
	assert_false(parse("drm-driver:\tnpu2\n").is_npu);
	assert_false(parse("drm-driver npu\n").is_npu);
	assert_true(parse("drm-driver:npu").is_npu);
	assert_true(parse("\n\n:\n::\ndrm-driver:   npu\r\n").is_npu);
}

static void test_numbers(void **state)
{
	(void)state;
	assert_int_equal(parse("npu-tasks:\t-1\n").tasks, 0);
	assert_int_equal(parse("npu-tasks:\t+1\n").tasks, 0);
	assert_int_equal(parse("npu-tasks:\t99999999999999999999\n").tasks, 0);
	assert_int_equal(parse("npu-tasks:\t5 ns\n").tasks, 0);
	assert_int_equal(parse("npu-tasks:\t\n").tasks, 0);
	assert_int_equal(parse("npu-tasks:\t0x10\n").tasks, 0);
	assert_int_equal(parse("drm-resident-memory:\t7\n").resident_bytes, 7);
	assert_int_equal(parse("drm-resident-memory:\t7 KiB\n").resident_bytes, 7 << 10);
	assert_int_equal(parse("drm-resident-memory:\t7 GiB\n").resident_bytes, 0);
	assert_int_equal(parse("drm-resident-memory:\t18446744073709551615 KiB\n").resident_bytes,
			 0);
}

static void test_long(void **state)
{
	char text[2048];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	memcpy(text, "drm-pdev:\t", 10);
	assert_int_equal(strlen(parse(text).bus), sizeof(parse(text).bus) - 1);
}

static void test_noise(void **state)
{
	uint32_t seed = 7;
	char text[512];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		size_t at;

		memcpy(text, good, sizeof(good));
		for (int j = 0; j < 8; j++) {
			write_noise(&at, sizeof(at), &seed);
			write_noise(&text[at % (sizeof(good) - 1)], 1, &seed);
		}
		parse(text);
	}
}

/* ------------------------------------------------------------- a made-up system */

static char root[256];

static void write_fdinfo(int pid, int number, const char *text)
{
	char path[512];
	FILE *file;

	make_in(root, "mkdir -p proc/%d/fd proc/%d/fdinfo && ln -sf /dev/accel/accel900 proc/%d/fd/%d", pid,
	     pid, pid, number);
	snprintf(path, sizeof(path), "%s/proc/%d/fdinfo/%d", root, pid, number);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A card without a node in /dev, and processes that have it open. */
static void test_system(void **state)
{
	struct top_sample *sample = top_sample_new();
	struct top_drm *drm;

	(void)state;
	make_folder(root, sizeof(root));
	make_in(root, "mkdir -p bus/drivers/npu 'devices/0000:00:04.0' sys/class/accel/accel900 && "
	     "ln -s ../../bus/drivers/npu devices/0000:00:04.0/driver && "
	     "ln -s ../../../../devices/0000:00:04.0 sys/class/accel/accel900/device && "
	     "mkdir -p sys/class/accel/accel901 && ln -s /nowhere sys/class/accel/accel901/device");
	/* One file on two descriptors counts once; another one is added. */
	write_fdinfo(999999001, 3, good);
	write_fdinfo(999999001, 4, good);
	write_fdinfo(999999001, 5,
		     "drm-driver:\tnpu\ndrm-client-id:\t18\ndrm-pdev:\t0000:00:04.0\n"
		     "drm-cycles-mac:\t10\n");
	/* Not ours, and of no card that is there. */
	write_fdinfo(999999002, 3, "drm-driver:\tother\ndrm-pdev:\t0000:00:04.0\n");
	write_fdinfo(999999003, 3, "drm-driver:\tnpu\ndrm-pdev:\t0000:00:05.0\n");
	make_in(root, "mkdir -p proc/999999004/fd proc/self/fd proc/-3");
	drm = top_drm_new(root);
	top_drm_collect(drm, sample);
	assert_int_equal(sample->devices, 1);
	assert_string_equal(sample->device[0].name, "accel900");
	assert_string_equal(sample->device[0].bus, "0000:00:04.0");
	assert_int_equal(sample->device[0].state, TOP_GONE);
	assert_true(*sample->device[0].trouble);
	assert_int_equal(sample->processes, 1);
	assert_int_equal(sample->process[0].pid, 999999001);
	assert_true(sample->process[0].has_engines);
	assert_int_equal(sample->process[0].mac_cycles, 1010);
	assert_int_equal(sample->process[0].tasks, 5);
	top_sample_free(sample);
	/* The card goes: it stays on the screen, as what it is. */
	make_in(root, "rm -r sys/class/accel/accel900");
	sample = top_sample_new();
	top_drm_collect(drm, sample);
	assert_int_equal(sample->devices, 1);
	assert_int_equal(sample->device[0].state, TOP_GONE);
	assert_non_null(strstr(sample->device[0].trouble, "it has gone"));
	top_sample_free(sample);
	top_drm_free(drm);
	make_in(root, "rm -r bus devices sys proc");
	remove_folder(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),  cmocka_unit_test(test_others),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_long),
		cmocka_unit_test(test_noise), cmocka_unit_test(test_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
