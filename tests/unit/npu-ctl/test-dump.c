// SPDX-License-Identifier: MIT
/* What npu-ctl says of core dumps: of a good one, of older and newer ones, and of damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drm/npu_accel.h"
#include "dump.h"
#include "dump_print.h"
#include "mutate.h"
#include "npu/npu_regs.h"
#include "tiny_model.h"

#define ROOM 65536
#define MUTATIONS 20000

struct bytes {
	unsigned char data[ROOM];
	size_t size;
	struct hot_part heads[32];
	size_t head_count;
};

static void put(struct bytes *to, const void *from, size_t size)
{
	assert_true(size <= ROOM - to->size);
	memcpy(to->data + to->size, from, size);
	to->size += size;
}

/* @file_bytes: of each entry in the dump, of which @bytes are ours and others zero. */
static void put_section(struct bytes *to, uint32_t kind, uint32_t index, const void *entries,
			size_t bytes, uint32_t count, size_t file_bytes)
{
	const struct npu_coredump_section head = { kind, index, (uint32_t)file_bytes, count };
	static const unsigned char zeros[256];

	put(to, zeros, -to->size % NPU_COREDUMP_ALIGN);
	to->heads[to->head_count++] = (struct hot_part){ to->size, sizeof(head) };
	put(to, &head, sizeof(head));
	for (uint32_t i = 0; i < count; i++) {
		const unsigned char *entry = (const unsigned char *)entries + i * bytes;

		put(to, entry, bytes < file_bytes ? bytes : file_bytes);
		if (file_bytes > bytes)
			put(to, zeros, file_bytes - bytes);
	}
}

static void put_header(struct bytes *to, uint16_t major, uint16_t minor)
{
	struct npu_coredump_header header = {
		.major = major, .minor = minor, .header_bytes = sizeof(header),
	};

	memcpy(header.magic, NPU_COREDUMP_MAGIC, sizeof(header.magic));
	to->heads[to->head_count++] = (struct hot_part){ 0, sizeof(header) };
	put(to, &header, sizeof(header));
}

static void finish(struct bytes *to)
{
	((struct npu_coredump_header *)(void *)to->data)->bytes = to->size;
}

static const struct npu_coredump_cause cause = {
	.time_ns = 1796072472ull * 1000000000, .uptime_ns = 53250000000, .answers = 1,
	.outcome = NPU_COREDUMP_RESET, .resets = 3, .failure = NPU_FAILURE_INVALIDATION,
	.reason = "a TLB invalidation did not complete",
};

static const struct npu_coredump_system system_is = {
	.device = "0000:00:04.0", .kernel = "7.3.4", .firmware = "npu-fw 0.1", .config = "npu-v3",
	.driver = 1 << 16, .hardware = 3 << 16 | 3, .firmware_abi = 1 << 16 | 2,
	.driver_abi = 1 << 16 | 2, .page_bytes = 4096,
};

/* @more: bytes that each entry has beyond ours; negative: that it lacks. */
static void put_good(struct bytes *to, uint16_t minor, long more, uint64_t layer_offset)
{
	const struct npu_fault fault = {
		.header = 1 | NPU_ERROR_MMU_UNMAPPED << 8 | 2u << 16 | 5u << 24, .task_id = 77,
		.address = 0x30001000, .access = NPU_FAULT_WRITE, .cluster = 1,
		.program_offset = layer_offset,
	};
	const struct npu_coredump_context contexts[] = {
		{ .index = 1, .id = 1, .pid = 100, .uid = 1000, .comm = "quiet",
		  .state = DRM_NPU_CTX_INNOCENT },
		{ .index = 2, .id = 1, .pid = 200, .uid = 1001, .comm = "wild\x1b[7m",
		  .state = DRM_NPU_CTX_GUILTY, .faults = 1, .fault = fault },
		{ .index = 3, .id = 1, .pid = 300, .comm = "leaves", .state = DRM_NPU_CTX_GUILTY,
		  .flags = NPU_COREDUMP_CONTEXT_ENDING },
	};
	const struct npu_coredump_queue queue = {
		.queue = 5, .context = 2, .id = 1, .priority = 7, .ring_log2 = 4, .ring = 0x10000000,
		.first = 16, .packets = 3, .flags = NPU_COREDUMP_QUEUE_READ,
		.control = { .read_index = 17, .write_index = 19 },
	};
	/* On the second turn of the ring the phase bit is 0. */
	const struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0), .task_id = 78,
		.program = 0x40000000, .budget = 4, .wait_sem = { 9, NPU_SEM_NONE },
		.wait_value = { 13 }, .signal_sem = 10,
	};
	const struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 1), .sem = 4, .add = 2,
	};
	unsigned char packets[3][NPU_PACKET_BYTES];
	const struct npu_coredump_semaphore semaphore = { 2, 9, 12, 13 };
	const struct npu_fault hang = {
		.header = NPU_ERROR_BUDGET << 8 | 1u << 16, .task_id = 5, .access = NPU_FAULT_TOKEN,
		.address = 33,
	};
	const struct npu_fault faults[] = { fault, hang };
	const struct npu_event event = { .header = 1 | NPU_EVENT_WATCH << 8 | 2 << 16, .sem = 9,
					 .value = 12 };
	const struct npu_coredump_register registers[] = {
		{ NPU_REG_ID, NPU_ID_VALUE }, { NPU_REG_FW_STATE, NPU_FW_STATE_READY },
		{ 0xabc, 1 },
	};
	static const char log[] = "first line\nsecond \x1b[31mline\n";

	for (int i = 0; i < 3; i++)
		memcpy(packets[i], i < 2 ? (const void *)&exec : &signal, NPU_PACKET_BYTES);
	put_header(to, NPU_COREDUMP_MAJOR, minor);
#define PUT(kind, index, entries, count) \
	put_section(to, kind, index, entries, sizeof(*(entries)), count, \
		    sizeof(*(entries)) + (size_t)more)
	PUT(NPU_COREDUMP_CAUSE, 0, &cause, 1);
	put_section(to, 4711, 0, "of a newer driver's", 20, 1, 20);
	PUT(NPU_COREDUMP_SYSTEM, 0, &system_is, 1);
	put_section(to, NPU_COREDUMP_REGISTERS, 0, registers, 8, 3, 8);
	PUT(NPU_COREDUMP_CONTEXTS, 0, contexts, 3);
	PUT(NPU_COREDUMP_QUEUES, 0, &queue, 1);
	put_section(to, NPU_COREDUMP_PACKETS, 5, packets, NPU_PACKET_BYTES, 3, NPU_PACKET_BYTES);
	put_section(to, NPU_COREDUMP_SEMAPHORES, 0, &semaphore, sizeof(semaphore), 1,
		    sizeof(semaphore));
	put_section(to, NPU_COREDUMP_FAULTS, 0, faults, sizeof(fault), 2, sizeof(fault));
	put_section(to, NPU_COREDUMP_EVENTS, 0, &event, sizeof(event), 1, sizeof(event));
	put_section(to, NPU_COREDUMP_LOG, 0, log, 1, sizeof(log) - 1, 1);
#undef PUT
	finish(to);
}

/* All of it as text, to be freed; NULL when it is refused, with @error. */
static char *explain(const void *bytes, size_t size, const struct dump_model *model,
		     char error[DUMP_TEXT_BYTES])
{
	/* Of its own length, so that the sanitizer sees whoever reads beyond it. */
	unsigned char *copy = malloc(size + !size);
	struct dump *dump = malloc(sizeof(*dump));
	struct json_object *json;
	char *text = NULL;
	size_t length;
	FILE *file;

	assert_true(copy && dump);
	memcpy(copy, bytes, size);
	*error = 0;
	if (!dump_read(dump, copy, size, error)) {
		file = open_memstream(&text, &length);
		assert_non_null(file);
		dump_print_text(file, dump, model);
		fclose(file);
		json = dump_json(dump, model);
		assert_non_null(json_object_to_json_string(json));
		json_object_put(json);
	}
	free(dump);
	free(copy);
	return text;
}

static void expect(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("'%s' is not in:\n%s", words, text);
}

static void test_good(void **state)
{
	static struct bytes bytes;
	char error[DUMP_TEXT_BYTES], *text;

	(void)state;
	put_good(&bytes, 0, 0, 0x80);
	text = explain(bytes.data, bytes.size, NULL, error);
	assert_non_null(text);
	expect(text, "The device 0000:00:04.0 failed on 2026-11-30 at ");
	expect(text, "53.250 s after its system had started: a TLB invalidation did not complete. "
		     "It was stopped, to be started again; it had been reset 3 times before.");
	expect(text, "The registers show nothing in particular.");
	expect(text, "npu-v3 of version 3.3; firmware npu-fw 0.1, interface 1.2; driver 1.0, made for "
		     "interface 1.2; kernel 7.3.4");
	expect(text, "Context 1 of 'quiet' (process 100, user 1000; number 1 there) lost its work, "
		     "innocent;");
	expect(text, "Context 2 of 'wild?[7m' (process 200, user 1001; number 1 there) was found "
		     "GUILTY: the device failed for its sake;");
	expect(text, "Context 3 of 'leaves' (process 300, user 0; number 1 there) was being ended by "
		     "its program;");
	expect(text, "Task 77 (0x4d) of context 2, queue 5, failed writing address 0x30001000: "
		     "nothing is mapped there, in program offset 0x80, cluster 1 (error 1).");
	expect(text, "Task 5 (0x5) of context 1, queue 0, was ended: its budget ran out while it waited "
		     "for token g1, in program offset 0x0, cluster 0 (error 35).");
	expect(text, "Queue 5 of context 2 (number 1 there, priority 7, 16 packets at 0x10000000): "
		     "17 packets were done, 2 more written.");
	expect(text, "packet 16 (done) EXEC: task 78");
	expect(text, "packet 17 (next) EXEC: task 78 (0x4e), program at 0x40000000, 0 arguments, "
		     "budget 4096 cycles, waits for semaphore 9: 12 of 13, signals semaphore 10");
	expect(text, "packet 18 (not written) SIGNAL: semaphore 4 by 2");
	expect(text, "9 of context 2: 12; somebody waited for 13");
	expect(text, "semaphore 9 of context 2 reached 12");
	expect(text, "  first line\n  second ?[31mline\n");
	expect(text, "0x0000 0x3355504e ID");
	expect(text, "An access of the guilty context's never ended");
	assert_null(strstr(text, "This dump is not"));
	assert_null(strstr(text, "newer driver"));
	free(text);
}

/* Sections and entries that have more than we know, and less. */
static void test_other_minor_versions(void **state)
{
	char error[DUMP_TEXT_BYTES], *text;

	(void)state;
	for (long more = -8; more <= 16; more += 8) {
		struct bytes *bytes = calloc(1, sizeof(*bytes));

		put_good(bytes, 9, more, 0x80);
		text = explain(bytes->data, bytes->size, NULL, error);
		assert_non_null(text);
		expect(text, "a TLB invalidation did not complete");
		expect(text, "Context 2 of 'wild?[7m' (process 200");
		expect(text, "packet 17 (next) EXEC: task 78");
		free(text);
		free(bytes);
	}
}

static void test_other_major_version(void **state)
{
	static struct bytes bytes;
	char error[DUMP_TEXT_BYTES];

	(void)state;
	put_header(&bytes, 2, 5);
	finish(&bytes);
	assert_null(explain(bytes.data, bytes.size, NULL, error));
	expect(error, "it is of version 2.5, and this npu-ctl reads 1.*");
}

static void test_no_dump(void **state)
{
	char error[DUMP_TEXT_BYTES];
	static struct bytes bytes;

	(void)state;
	assert_null(explain("", 0, NULL, error));
	expect(error, "too short");
	assert_null(explain("this is something else, which is long", 37, NULL, error));
	expect(error, "it is no core dump of an NPU");
	put_header(&bytes, NPU_COREDUMP_MAJOR, 0);
	finish(&bytes);
	assert_null(explain(bytes.data, bytes.size, NULL, error));
	expect(error, "does not say why it was made");
}

/* At each byte: it is refused with a sentence, or said to be incomplete. */
static void test_cut(void **state)
{
	static struct bytes bytes;
	char error[DUMP_TEXT_BYTES], *text;
	size_t explained = 0;

	(void)state;
	put_good(&bytes, 0, 0, 0x80);
	for (size_t size = 0; size < bytes.size; size++) {
		text = explain(bytes.data, size, NULL, error);
		if (text)
			expect(text, "This dump is not complete: the file ends before it does");
		else
			assert_true(strlen(error) > 10);
		explained += text != NULL;
		free(text);
	}
	assert_true(explained > bytes.size / 2);
}

static void expect_harmless(const char *text)
{
	for (; *text; text++) {
		if (*text != '\n' && (*text < ' ' || *text > '~'))
			fail_msg("a byte 0x%x goes to the terminal", (unsigned char)*text);
	}
}

static void test_damaged(void **state)
{
	static struct bytes good, bad;
	char error[DUMP_TEXT_BYTES], *text;
	size_t explained = 0;
	struct dice dice;

	(void)state;
	put_good(&good, 0, 0, 0x80);
	for (uint64_t seed = 0; seed < MUTATIONS; seed++) {
		bad = good;
		dice_start(&dice, seed);
		bad.size = mutate(&dice, bad.data, bad.size, ROOM, good.heads, good.head_count);
		text = explain(bad.data, bad.size, NULL, error);
		if (text)
			expect_harmless(text);
		else
			assert_true(strlen(error) > 10);
		explained += text != NULL;
		free(text);
	}
	assert_true(explained > MUTATIONS / 10);
	assert_true(explained < MUTATIONS);
}

/* Whoever makes a dump of the largest size full of queues does not keep us for ever. */
static void test_many(void **state)
{
	const struct npu_coredump_section queues = { NPU_COREDUMP_QUEUES, 0, 1, 4000000 };
	struct npu_coredump_header header = { .major = 1, .header_bytes = sizeof(header) };
	size_t size = 0;
	unsigned char *data = calloc(1, NPU_COREDUMP_BYTES_MAX);
	struct npu_coredump_section one = { NPU_COREDUMP_CAUSE, 0, sizeof(cause), 1 };
	char error[DUMP_TEXT_BYTES], *text;

	(void)state;
	assert_non_null(data);
	memcpy(header.magic, NPU_COREDUMP_MAGIC, sizeof(header.magic));
	header.bytes = NPU_COREDUMP_BYTES_MAX;
	memcpy(data, &header, sizeof(header));
	size = sizeof(header);
	memcpy(data + size, &one, sizeof(one));
	memcpy(data + size + sizeof(one), &cause, sizeof(cause));
	size += sizeof(one) + sizeof(cause);
	memcpy(data + size, &queues, sizeof(queues));
	text = explain(data, NPU_COREDUMP_BYTES_MAX, NULL, error);
	assert_non_null(text);
	assert_true(strlen(text) < 1000000);
	expect(text, "not complete: there was more");
	free(text);
	free(data);
}

static void test_model(void **state)
{
	const struct tiny_options options = { .kind = TINY_GOOD };
	struct tiny_model tiny;
	char path[] = "/tmp/npu-test-dump-XXXXXX", error[1024], *text;
	struct dump_model *model;
	static struct bytes bytes;
	int fd;

	(void)state;
	tiny_model_make(&tiny, &options);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, tiny.bytes, tiny.size), tiny.size);
	close(fd);
	model = dump_model_open(path, error, sizeof(error));
	assert_non_null(model);
	put_good(&bytes, 0, 0, tiny.shift_offset);
	text = explain(bytes.data, bytes.size, model, error);
	assert_non_null(text);
	expect(text, ", cluster 1, which is layer 'shift");
	expect(text, "of model 'tiny', if it was this model's task");
	free(text);
	/* An offset that no program has is of no layer. */
	bytes = (struct bytes){ 0 };
	put_good(&bytes, 0, 0, 0xfffffff0);
	text = explain(bytes.data, bytes.size, model, error);
	assert_non_null(text);
	assert_null(strstr(text, "which is layer"));
	free(text);
	dump_model_close(model);
	unlink(path);
	tiny_model_free(&tiny);

	assert_null(dump_model_open("/none", error, sizeof(error)));
	expect(error, "No such file");
	assert_null(dump_model_open("/dev/null", error, sizeof(error)));
	expect(error, "no regular file");
	assert_null(dump_model_open("/proc/self/exe", error, sizeof(error)));
	expect(error, "model");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_other_minor_versions),
		cmocka_unit_test(test_other_major_version),
		cmocka_unit_test(test_no_dump),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
