// SPDX-License-Identifier: MIT
/*
 * What submitting and waiting ask of the kernel and of the card: system calls of this process, counted
 * by the kernel's tracepoint raw_syscalls:sys_enter, and what npu-device has counted, told by
 * tests/qemu/run-guest without an access to the card. In a guest, on $NPU_TEST_DEVICE.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rig.h"

#define TASKS		10000
#define PARKED_WAITS	8
#define TRACEPOINT	"events/raw_syscalls/sys_enter/id"

static int calls_fd;

/* ------------------------------------------------------------- what is counted */

static int tracepoint_id(void)
{
	FILE *file = fopen("/sys/kernel/tracing/" TRACEPOINT, "r");
	int id = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &id) != 1)
		id = -1;
	fclose(file);
	return id;
}

/* Before there is any thread but the first: those made later are counted too. */
static int count_calls(void **state)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)tracepoint_id(),
		.inherit = 1,
	};

	(void)state;
	/* The statistics page is looked after by the clock, whatever tasks there are. */
	setenv("NPURT_STATS", "0", 1);
	calls_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (calls_fd < 0)
		perror("perf_event_open of raw_syscalls:sys_enter");
	return calls_fd < 0;
}

/* System calls so far, this one included. */
static uint64_t calls(void)
{
	uint64_t count = 0;

	assert_int_equal(read(calls_fd, &count, sizeof(count)), sizeof(count));
	return count;
}

struct card {
	uint64_t messages, reads, writes, doorbells, interrupts;
	/* The driver's own: reads of a register because nothing came for a second. */
	uint64_t looks;
};

static uint64_t driver_counter(const char *name)
{
	char pattern[96];
	uint64_t value;
	FILE *file;
	glob_t found;

	/* The folder is named by the card's place on its bus. */
	snprintf(pattern, sizeof(pattern), "/sys/kernel/debug/accel/*:*/%s", name);
	if (glob(pattern, 0, NULL, &found))
		fail_msg("there is no file %s", pattern);
	file = fopen(found.gl_pathv[0], "r");
	if (!file)
		fail_msg("%s: %s", found.gl_pathv[0], strerror(errno));
	assert_int_equal(fscanf(file, "%" SCNu64, &value), 1);
	fclose(file);
	globfree(&found);
	return value;
}

static struct card card(void)
{
	FILE *serial = fopen("/dev/ttyS1", "r+");
	char line[256] = "";
	struct card card;

	assert_non_null(serial);
	setvbuf(serial, NULL, _IONBF, 0);
	fputs("npu-host: counters\n", serial);
	fseek(serial, 0, SEEK_CUR);
	assert_non_null(fgets(line, sizeof(line), serial));
	fclose(serial);
	if (sscanf(line, "messages %" SCNu64 " register-reads %" SCNu64 " register-writes %" SCNu64
			 " doorbells %" SCNu64 " interrupts %" SCNu64,
		   &card.messages, &card.reads, &card.writes, &card.doorbells,
		   &card.interrupts) != 5)
		fail_msg("not npu-device's counters: '%s'", line);
	card.looks = driver_counter("backstop_looks");
	return card;
}

static struct card difference(struct card now, struct card before)
{
	return (struct card){
		.messages = now.messages - before.messages,
		.looks = now.looks - before.looks,
		.reads = now.reads - before.reads,
		.writes = now.writes - before.writes,
		.doorbells = now.doorbells - before.doorbells,
		.interrupts = now.interrupts - before.interrupts,
	};
}

static void show(const char *what, uint64_t made, const struct card *did)
{
	print_message("# %s: %" PRIu64 " system calls, %" PRIu64 " register reads, %" PRIu64
		      " register writes, %" PRIu64 " doorbells, %" PRIu64 " interrupts, %" PRIu64
		      " messages; nothing came for a second %" PRIu64 " times\n",
		      what, made, did->reads, did->writes, did->doorbells, did->interrupts,
		      did->messages, did->looks);
}

/*
 * A context has been made, so the driver reads what the firmware logs of it, a tenth of a second
 * later and once: until the card has had nothing to do for longer than that.
 */
static void wait_for_quiet(void)
{
	struct card before, did = { 0 };

	for (int i = 0; i < 120; i++) {
		before = card();
		usleep(500000);
		did = difference(card(), before);
		if (!did.reads && !did.writes && !did.interrupts)
			return;
	}
	fail_msg("the card is never left alone: %llu reads, %llu writes, %llu interrupts in half a second",
		 (unsigned long long)did.reads, (unsigned long long)did.writes,
		 (unsigned long long)did.interrupts);
}

/* ----------------------------------------------------------------------- tests */

/* The counters below would show what they must not find. */
static void test_counting_works(void **state)
{
	struct npurt_device *device = rig_open(NULL);
	struct npurt_device_counters counters = { .size = sizeof(counters) };
	struct card before, did;
	uint64_t first = calls();
	int i;

	(void)state;
	assert_int_equal(calls() - first, 1);
	for (i = 0; i < 7; i++)
		syscall(SYS_getppid);
	assert_int_equal(calls() - first, 9);
	wait_for_quiet();
	before = card();
	ok(npurt_device_get_counters(device, &counters));
	did = difference(card(), before);
	assert_true(did.reads > 0);
	assert_int_equal(did.interrupts, 0);
	npurt_close(device);
}

/* Between a submission and the completion that is seen: nothing but a doorbell, which is posted. */
static void test_spinning(void **state)
{
	struct npurt_context_options context = { .size = sizeof(context), .spin_us = 1000000 };
	struct npurt_future *future;
	struct card before, did;
	struct rig rig;
	uint64_t made;
	int i;

	(void)state;
	rig_make(&rig, &context, NULL);
	rig_fill(&rig, rig.x, rig.y, 3);
	/* Pages, symbols and the queue's slot come with the first ones. */
	for (i = 0; i < 100; i++)
		ok(npurt_run(rig.model, rig.bindings, 2, NULL));
	wait_for_quiet();
	before = card();
	made = calls();
	for (i = 0; i < TASKS; i++) {
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
		ok(npurt_future_wait(future, NPURT_FOREVER));
		npurt_future_release(future);
	}
	made = calls() - made - 1;
	did = difference(card(), before);
	show("10000 tasks, spinning", made, &did);
	assert_int_equal(made, 0);
	assert_int_equal(did.reads, 0);
	assert_int_equal(did.writes, 0);
	assert_int_equal(did.interrupts, 0);
	assert_true(did.doorbells <= TASKS);
	assert_true(did.messages <= did.doorbells);
	rig_check(&rig, rig.y, 3);
	rig_free(&rig);
}

/*
 * A wait that sleeps: one system call, one interrupt; three posted writes (arm the watch, clear
 * the interrupt, hand the event's place back), no read. On a machine so busy that a wait takes a
 * second the driver looks whether the device is still there; it counts that itself. It does so no more
 * than twice a second.
 */
static void test_parked(void **state)
{
	struct npurt_context_options context = { .size = sizeof(context),
						 .flags = NPURT_CONTEXT_NO_SPIN };
	struct tiny_options tiny = { .kind = TINY_SLOW, .trips = 100000 };
	struct npurt_future *future;
	struct card before, did;
	struct rig rig;
	int64_t start;
	uint64_t made;
	int i;

	(void)state;
	rig_make(&rig, &context, &tiny);
	rig_fill(&rig, rig.x, rig.y, 3);
	ok(npurt_run(rig.model, rig.bindings, 2, NULL));
	wait_for_quiet();
	before = card();
	start = rig_now();
	made = calls();
	for (i = 0; i < PARKED_WAITS; i++) {
		ok(npurt_run_submit(rig.model, rig.bindings, 2, NULL, &future));
		ok(npurt_future_wait(future, NPURT_FOREVER));
		npurt_future_release(future);
	}
	made = calls() - made - 1;
	did = difference(card(), before);
	show("8 parked waits", made, &did);
	assert_int_equal(made, PARKED_WAITS);
	assert_int_equal(did.reads, did.looks);
	assert_true(did.looks <= (uint64_t)(rig_now() - start) / 500000000);
	assert_int_equal(did.interrupts, PARKED_WAITS);
	assert_int_equal(did.writes, 3 * PARKED_WAITS);
	rig_check(&rig, rig.y, 3);
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counting_works),
		cmocka_unit_test(test_spinning),
		cmocka_unit_test(test_parked),
	};

	return cmocka_run_group_tests(tests, count_calls, NULL);
}
