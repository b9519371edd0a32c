// SPDX-License-Identifier: MIT
/* Cards by what their driver says in sysfs: what is shown of one that works, is reset, dies, goes, comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device_status.h"
#include "samples.h"
#include "source.h"
#include "table.h"
#include "verdict.h"

#define BUS "0000:00:04.0"

static char root[256];

static void say(const char *file, const char *text)
{
	make_in(root, "printf -- '%s\\n' >devices/" BUS "/%s", text, file);
}

static void bind(const char *name)
{
	make_in(root,
		"mkdir -p sys/class/accel/%s && ln -sfn ../../../../devices/" BUS
		" sys/class/accel/%s/device",
		name, name);
}

static int set_up(void **state)
{
	(void)state;
	make_folder(root, sizeof(root));
	make_in(root, "mkdir -p bus/drivers/npu proc devices/" BUS
		      " && ln -s ../../bus/drivers/npu devices/" BUS "/driver");
	say("npu_state", "working");
	say("npu_busy_time_us", "1000");
	say("npu_current_frequency_mhz", "1000");
	say("npu_memory_bytes", "1048576");
	say("npu_firmware_version", "npu-fw 1.2");
	say("npu_resets", "0");
	say("npu_reset_reason", "");
	/* Nobody has a node of this number, so it cannot be opened. */
	bind("accel900");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	make_in(root, "rm -r bus devices sys proc");
	remove_folder(root);
	return 0;
}

static struct top_sample *take(struct top_drm *drm)
{
	struct top_sample *sample = top_sample_new();

	top_drm_collect(drm, sample);
	return sample;
}

static bool shows(const struct top_rates *rates, size_t width, const char *words)
{
	const struct top_wish wish = { 0 };
	struct top_table table;
	struct top_rows rows;
	bool found = false;

	top_rows_make(&rows, rates, &wish);
	top_table_make(&table, rates, &rows, &wish, 1, width);
	for (size_t i = 0; i < table.count; i++)
		found |= strstr(table.line[i].text, words) != NULL;
	top_table_free(&table);
	top_rows_free(&rows);
	return found;
}

/* What the driver says is shown of a card that cannot be opened, too. */
static void test_figures(void **state)
{
	struct top_drm *drm = top_drm_new(root);
	struct top_sample *before, *now;
	struct top_rates rates;

	(void)state;
	before = take(drm);
	say("npu_busy_time_us", "2000");
	now = take(drm);
	assert_int_equal(now->devices, 1);
	assert_string_equal(now->device[0].firmware, "npu-fw 1.2");
	assert_string_equal(now->device[0].driver_says.state, "working");
	assert_true(now->device[0].driver_says.memory_bytes == 1048576);
	assert_true(now->device[0].driver_says.clock_hz == 1000000000);
	assert_true(now->device[0].driver_says.resets == 0);
	assert_int_equal(now->device[0].error, -ENOENT);
	/* A millisecond of work in some known time. */
	now->device[0].driver_says.read_ns = before->device[0].driver_says.read_ns + 4000000;
	top_rates_make(&rates, before, now);
	assert_true(fabs(rates.device[0].busy - 0.25) < 1e-9);
	assert_true(shows(&rates, 200,
			  "driver: working  busy 25.0%  memory 1.00M  clock 1000 MHz  resets 0"));
	top_rates_free(&rates);
	top_sample_free(before);
	top_sample_free(now);
	top_drm_free(drm);
}

/* Files that are missing, or hold no number, are unknown, and never a figure. */
static void test_unknown(void **state)
{
	struct top_drm *drm = top_drm_new(root);
	struct top_sample *sample;

	(void)state;
	say("npu_memory_bytes", "-1");
	say("npu_busy_time_us", "18446744073709551615");
	say("npu_resets", "1x");
	make_in(root, "rm devices/" BUS "/npu_current_frequency_mhz devices/" BUS "/npu_state");
	say("npu_firmware_version", "0123456789012345678901234567890123456789");
	say("npu_reset_reason", "a \\033[31mred\\033[0m reason");
	sample = take(drm);
	assert_true(sample->device[0].driver_says.memory_bytes == TOP_UNKNOWN);
	assert_true(sample->device[0].driver_says.busy_ns == TOP_UNKNOWN);
	assert_true(sample->device[0].driver_says.resets == TOP_UNKNOWN);
	assert_true(sample->device[0].driver_says.clock_hz == TOP_UNKNOWN);
	assert_string_equal(sample->device[0].driver_says.state, "");
	assert_int_equal(strlen(sample->device[0].firmware),
			 sizeof(sample->device[0].firmware) - 1);
	assert_string_equal(sample->device[0].driver_says.last_failure, "a ?[31mred?[0m reason");
	top_sample_free(sample);
	top_drm_free(drm);
}

/* What a batch says of a sample, on a standard error that can be read again. */
static void look(struct top_verdict *verdict, const struct top_sample *sample, const char *device,
		 char *said, size_t bytes)
{
	const struct top_wish wish = { .device = device };
	FILE *file = tmpfile(), *saved = stderr;
	size_t got;

	assert_non_null(file);
	stderr = file;
	top_verdict_take(verdict, sample, &wish);
	/* It is said once. */
	top_verdict_take(verdict, sample, &wish);
	stderr = saved;
	rewind(file);
	got = fread(said, 1, bytes - 1, file);
	said[got] = 0;
	fclose(file);
}

static int verdict_on(const struct top_sample *sample, const char *device, char *said, size_t bytes)
{
	struct top_verdict verdict = { 0 };

	look(&verdict, sample, device, said, bytes);
	return verdict.status;
}

static void test_states(void **state)
{
	struct top_drm *drm = top_drm_new(root);
	struct top_verdict verdict = { 0 };
	struct top_sample *sample;
	struct top_rates rates;
	char said[1024];

	(void)state;
	say("npu_state", "resetting");
	say("npu_reset_reason", "it became too hot");
	sample = take(drm);
	assert_int_equal(sample->device[0].state, TOP_RESETTING);
	assert_non_null(strstr(sample->device[0].trouble, "it became too hot"));
	assert_int_equal(verdict_on(sample, "accel900", said, sizeof(said)), 0);
	assert_string_equal(said, "");
	top_sample_free(sample);

	say("npu_state", "dead");
	say("npu_reset_reason", "the firmware does not answer");
	sample = take(drm);
	assert_int_equal(sample->device[0].state, TOP_DEAD);
	assert_int_equal(verdict_on(sample, "accel900", said, sizeof(said)), DEVICE_STATUS_GONE);
	assert_string_equal(
		said,
		"npu-top: accel900: it is dead (the firmware does not answer): " DEVICE_DEAD_REMEDY
		"; 'dmesg' tells more\n");
	/* Nobody has asked for this card in particular. */
	assert_int_equal(verdict_on(sample, NULL, said, sizeof(said)), 0);
	assert_string_equal(said, "");
	/* What helps is seen on a narrow screen, too. */
	top_rates_make(&rates, NULL, sample);
	assert_true(shows(&rates, 60, "switch its"));
	assert_true(shows(&rates, 60, "power off and on"));
	top_rates_free(&rates);
	/* Another matter, with the same status. */
	look(&verdict, sample, "accel900", said, sizeof(said));
	snprintf(sample->device[0].trouble, TOP_TROUBLE_BYTES, "it has gone");
	look(&verdict, sample, "accel900", said, sizeof(said));
	assert_string_equal(said, "npu-top: accel900: it has gone\n");
	assert_int_equal(verdict.status, DEVICE_STATUS_GONE);
	top_sample_free(sample);

	say("npu_state", "working");
	say("npu_resets", "12");
	sample = take(drm);
	top_rates_make(&rates, NULL, sample);
	assert_true(shows(&rates, 200, "resets 12 (the firmware does not answer)"));
	assert_true(shows(&rates, 60, "answer)"));
	top_rates_free(&rates);
	assert_int_equal(verdict_on(sample, "accel900", said, sizeof(said)), DEVICE_STATUS_NONE);
	assert_non_null(strstr(said, "there is no such device: is the driver loaded"));
	sample->device[0].error = -EIO;
	assert_int_equal(verdict_on(sample, "accel900", said, sizeof(said)), DEVICE_STATUS_WEDGED);
	top_sample_free(sample);
	top_drm_free(drm);
}

static void test_back(void **state)
{
	struct top_drm *drm = top_drm_new(root);
	struct top_sample *sample = take(drm);
	char said[1024];

	(void)state;
	top_sample_free(sample);
	make_in(root, "rm -r sys/class/accel/accel900");
	sample = take(drm);
	assert_int_equal(sample->device[0].state, TOP_GONE);
	assert_int_equal(verdict_on(sample, "accel900", said, sizeof(said)), DEVICE_STATUS_GONE);
	assert_non_null(strstr(said, "it has gone"));
	top_sample_free(sample);
	/* While somebody has the old node open its number is taken. */
	bind("accel901");
	sample = take(drm);
	assert_int_equal(sample->devices, 1);
	assert_string_equal(sample->device[0].name, "accel901");
	assert_string_equal(sample->device[0].driver_says.state, "working");
	assert_null(strstr(sample->device[0].trouble, "it has gone"));
	top_sample_free(sample);
	make_in(root, "rm -r sys/class/accel/accel901");
	sample = take(drm);
	assert_non_null(strstr(sample->device[0].trouble, "it has gone"));
	top_sample_free(sample);
	top_drm_free(drm);
}

/* A card of this name that is another one takes the place of the one that has gone. */
static void test_other_place(void **state)
{
	struct top_drm *drm = top_drm_new(root);
	struct top_sample *sample = take(drm);

	(void)state;
	top_sample_free(sample);
	make_in(root,
		"mkdir devices/0000:00:05.0 && ln -s ../../bus/drivers/npu devices/0000:00:05.0/driver && "
		"ln -sfn ../../../../devices/0000:00:05.0 sys/class/accel/accel900/device");
	sample = take(drm);
	assert_int_equal(sample->devices, 1);
	assert_string_equal(sample->device[0].bus, "0000:00:05.0");
	assert_string_equal(sample->device[0].driver_says.state, "");
	top_sample_free(sample);
	top_drm_free(drm);
}

static void test_missing(void **state)
{
	struct top_sample *sample = top_sample_new();
	char said[1024];

	(void)state;
	assert_int_equal(verdict_on(sample, "accel901", said, sizeof(said)), DEVICE_STATUS_NONE);
	assert_non_null(
		strstr(said, "npu-top: accel901: /dev/accel/accel901: there is no such device"));
	assert_int_equal(verdict_on(sample, "sim:npu-v3", said, sizeof(said)), DEVICE_STATUS_NONE);
	assert_non_null(strstr(said, "npu-run --device sim:"));
	assert_int_equal(verdict_on(sample, "luck", said, sizeof(said)), DEVICE_STATUS_FAILED);
	assert_non_null(strstr(said, "names no device"));
	assert_int_equal(verdict_on(sample, NULL, said, sizeof(said)), 0);
	top_sample_free(sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_figures, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_place, set_up, tear_down),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
