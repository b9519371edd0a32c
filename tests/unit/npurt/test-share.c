// SPDX-License-Identifier: MIT
/* Memory that is shared with others: exported, imported, and who may do what with it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rig.h"

#define PAGE 4096u

/* Memory of a program: a memfd for `sim:`, the dma-buf of one for a driver. */
static int foreign_memory(uint64_t bytes, unsigned char **memory)
{
	int memfd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct udmabuf_create create = {
		.memfd = (uint32_t)memfd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = bytes,
	};
	int maker, file;

	assert_true(memfd >= 0);
	assert_int_equal(ftruncate(memfd, (off_t)bytes), 0);
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	assert_ptr_not_equal(*memory, MAP_FAILED);
	if (rig_is_sim())
		return memfd;
	maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	assert_true(maker >= 0);
	file = ioctl(maker, UDMABUF_CREATE, &create);
	assert_true(file >= 0);
	close(maker);
	close(memfd);
	return file;
}

static int export(struct npurt_buffer *buffer)
{
	int file = -1;

	ok(npurt_buffer_export(buffer, &file));
	assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
	return file;
}

/* A buffer, and another one of the same memory, in the same context. */
static void make_pair(const struct rig *rig, uint64_t bytes, uint32_t flags,
		      struct npurt_buffer **given, struct npurt_buffer **taken)
{
	int file;

	ok(npurt_buffer_alloc(rig->context, bytes, NPURT_BUFFER_EXPORT, given));
	file = export(*given);
	ok(npurt_buffer_import(rig->context, file, flags, taken));
	close(file);
}

/* The model's run on other buffers than the rig's. */
static void run_on(struct rig *rig, struct npurt_buffer *x, struct npurt_buffer *y)
{
	struct npurt_binding bindings[2] = { { .buffer = x }, { .buffer = y } };

	ok(npurt_run(rig->model, bindings, 2, NULL));
}

/* ------------------------------------------------------------------ it works */

static void what_a_task_wrote_is_in_another_context(void **state)
{
	struct npurt_buffer *given, *taken;
	struct rig writer, reader;
	int file;

	(void)state;
	rig_make(&writer, NULL, NULL);
	rig_make(&reader, NULL, NULL);
	ok(npurt_buffer_alloc(writer.context, PAGE, NPURT_BUFFER_EXPORT, &given));
	rig_fill(&writer, writer.x, given, 5);
	run_on(&writer, writer.x, given);
	file = export(given);
	ok(npurt_buffer_import(reader.context, file, 0, &taken));
	close(file);
	assert_int_equal(npurt_buffer_bytes(taken), PAGE);
	rig_check(&writer, taken, 5);

	/* And the other way, by the other context's task. */
	rig_fill(&reader, reader.x, taken, 9);
	run_on(&reader, reader.x, taken);
	rig_check(&writer, given, 9);
	npurt_buffer_free(given);
	rig_free(&writer);
	rig_check(&reader, taken, 9);
	npurt_buffer_free(taken);
	rig_free(&reader);
}

static void twice_in_one_context(void **state)
{
	struct npurt_buffer *given, *first, *second;
	struct rig rig;
	int file;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_buffer_alloc(rig.context, PAGE, NPURT_BUFFER_EXPORT, &given));
	file = export(given);
	ok(npurt_buffer_import(rig.context, file, 0, &first));
	ok(npurt_buffer_import(rig.context, file, NPURT_BUFFER_READ_ONLY, &second));
	close(file);
	rig_fill(&rig, rig.x, given, 1);
	run_on(&rig, rig.x, first);
	npurt_buffer_free(given);
	rig_check(&rig, first, 1);
	npurt_buffer_free(first);
	/* Two are gone, and it is as it was. */
	rig_check(&rig, second, 1);
	npurt_buffer_free(second);
	rig_free(&rig);
}

static void memory_of_a_program(void **state)
{
	struct npurt_buffer *x, *again;
	unsigned char *memory;
	struct rig rig;
	int file, other;

	(void)state;
	rig_make(&rig, NULL, NULL);
	file = foreign_memory(3 * PAGE, &memory);
	ok(npurt_buffer_import(rig.context, file, 0, &x));
	close(file);
	assert_int_equal(npurt_buffer_bytes(x), 3 * PAGE);
	rig_fill(&rig, rig.x, rig.y, 3);
	memcpy(memory, npurt_buffer_map(rig.x), rig.elements * 2);
	run_on(&rig, x, rig.y);
	rig_check(&rig, rig.y, 3);
	/* What was imported can be handed on. */
	other = export(x);
	npurt_buffer_free(x);
	ok(npurt_buffer_import(rig.context, other, 0, &again));
	close(other);
	run_on(&rig, rig.x, again);
	assert_memory_equal(memory, npurt_buffer_map(rig.y), rig.elements * 2);
	npurt_buffer_free(again);
	munmap(memory, 3 * PAGE);
	rig_free(&rig);
}

static void a_mapping_outlives_the_buffer(void **state)
{
	struct npurt_buffer *given, *next;
	unsigned char *memory, *own;
	struct rig rig;
	uint32_t i;
	int file;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_buffer_alloc(rig.context, PAGE, NPURT_BUFFER_EXPORT, &given));
	file = export(given);
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(file);
	memset(npurt_buffer_map(given), 0x77, PAGE);
	npurt_buffer_free(given);
	for (i = 0; i < PAGE; i++)
		assert_int_equal(memory[i], 0x77);

	/* Who comes next has memory of his own. */
	ok(npurt_buffer_alloc(rig.context, PAGE, 0, &next));
	own = npurt_buffer_map(next);
	memset(memory, 0x11, PAGE);
	for (i = 0; i < PAGE; i++)
		assert_int_equal(own[i], 0);
	npurt_buffer_free(next);
	munmap(memory, PAGE);
	rig_free(&rig);
}

static void large_memory(void **state)
{
	const uint64_t bytes = (uint64_t)5 << 20;
	struct npurt_buffer *given, *taken;
	unsigned char *host;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	make_pair(&rig, bytes, 0, &given, &taken);
	assert_int_equal(npurt_buffer_bytes(taken), bytes);
	host = npurt_buffer_map(given);
	host[bytes - 1] = 42;
	host = npurt_buffer_map(taken);
	assert_int_equal(host[bytes - 1], 42);
	npurt_buffer_free(given);
	npurt_buffer_free(taken);
	rig_free(&rig);
}

/* ------------------------------------------------------------ what is refused */

static void the_device_writes_no_read_only_memory(void **state)
{
	struct npurt_buffer *given, *taken;
	struct npurt_binding bindings[2];
	unsigned char *host;
	struct rig rig;
	uint32_t i;

	(void)state;
	rig_make(&rig, NULL, NULL);
	make_pair(&rig, PAGE, NPURT_BUFFER_READ_ONLY, &given, &taken);
	rig_fill(&rig, rig.x, rig.y, 0);
	bindings[0].buffer = taken;
	bindings[0].offset = 0;
	bindings[1] = rig.bindings[1];
	ok(npurt_run(rig.model, bindings, 2, NULL));
	bindings[0] = rig.bindings[0];
	bindings[1].buffer = taken;
	bindings[1].offset = 0;
	assert_true(npurt_run(rig.model, bindings, 2, NULL) < 0);
	host = npurt_buffer_map(taken);
	for (i = 0; i < PAGE; i++)
		assert_int_equal(host[i], 0);
	npurt_buffer_free(given);
	npurt_buffer_free(taken);
	rig_free(&rig);
}

static void only_what_was_made_for_it_is_exported(void **state)
{
	struct rig rig;
	int file = -7;

	(void)state;
	rig_make(&rig, NULL, NULL);
	assert_int_equal(npurt_buffer_export(rig.y, &file), -EINVAL);
	assert_says("NPURT_BUFFER_EXPORT");
	assert_int_equal(npurt_buffer_export(NULL, &file), -EINVAL);
	assert_int_equal(npurt_buffer_export(rig.y, NULL), -EINVAL);
	assert_int_equal(file, -7);
	rig_free(&rig);
}

static void refuse_file(struct rig *rig, int file, uint32_t flags, int error, const char *words)
{
	struct npurt_buffer *buffer = NULL;
	int before = rig_open_fds();

	assert_int_equal(npurt_buffer_import(rig->context, file, flags, &buffer), error);
	assert_says(words);
	assert_null(buffer);
	assert_int_equal(rig_open_fds(), before);
}

static void files_that_are_no_such_memory(void **state)
{
	unsigned char *memory;
	char path[64];
	struct rig rig;
	int file, again, ends[2];

	(void)state;
	rig_make(&rig, NULL, NULL);
	refuse_file(&rig, -1, 0, -EBADF, "file descriptor -1");
	refuse_file(&rig, 999, 0, -EBADF, "file descriptor 999");
	assert_int_equal(pipe(ends), 0);
	refuse_file(&rig, ends[1], 0, -EINVAL, "dma-buf");
	refuse_file(&rig, ends[0], 0, -EACCES, "NPURT_BUFFER_READ_ONLY");
	file = open("/dev/zero", O_RDWR | O_CLOEXEC);
	refuse_file(&rig, file, 0, -EINVAL, "dma-buf");
	close(file);
	close(ends[0]);
	close(ends[1]);

	file = foreign_memory(PAGE, &memory);
	refuse_file(&rig, file, 1u << 7, -EINVAL, "flags 0x80");
	refuse_file(&rig, file, NPURT_BUFFER_EXPORT, -EINVAL, "flags");
	if (rig_is_sim()) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
		again = open(path, O_RDONLY | O_CLOEXEC);
		refuse_file(&rig, again, 0, -EACCES, "NPURT_BUFFER_READ_ONLY");
		close(again);
	}
	close(file);
	munmap(memory, PAGE);
	rig_free(&rig);
}

/* A driver takes none at all. */
static void a_memfd_that_could_shrink(void **state)
{
	int file = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, PAGE), 0);
	refuse_file(&rig, file, 0, -EINVAL, rig_is_sim() ? "F_SEAL_SHRINK" : "dma-buf");
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	refuse_file(&rig, file, 0, -EINVAL, rig_is_sim() ? "no memory" : "dma-buf");
	close(file);
	rig_free(&rig);
}

/* --------------------------------------------------------------------- bounds */

static void the_pool_counts_what_is_exported_only(void **state)
{
	const struct npurt_context_options options = {
		.size = sizeof(options), .pool_bytes = (uint64_t)4 << 20,
	};
	struct npurt_context_status status = { .size = sizeof(status) };
	struct npurt_buffer *given, *taken, *more = NULL;
	const uint64_t bytes = (uint64_t)3 << 20;
	struct npurt_context *context;
	struct rig rig;
	int file, round;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_context_create(rig.device, &options, &context));
	for (round = 0; round < 3; round++) {
		ok(npurt_buffer_alloc(context, bytes, NPURT_BUFFER_EXPORT, &given));
		assert_int_equal(npurt_buffer_alloc(context, bytes, NPURT_BUFFER_EXPORT, &more),
				 -ENOMEM);
		assert_says("pool_bytes");
		file = export(given);
		ok(npurt_buffer_import(context, file, 0, &taken));
		close(file);
		npurt_buffer_free(given);
		/* Nothing of it is kept for others. */
		ok(npurt_context_get_status(context, &status));
		assert_int_equal(status.pool_kept_bytes, 0);
		assert_int_equal(status.buffer_bytes >= bytes, 1);
		npurt_buffer_free(taken);
	}
	npurt_context_destroy(context);
	rig_free(&rig);
}

/* The device's memory is full of it: that of `sim:`; of a driver nobody knows. */
static void what_is_kept_makes_room(void **state)
{
	const struct npurt_context_options options = {
		.size = sizeof(options), .pool_bytes = (uint64_t)1 << 30,
	};
	const uint64_t most = (uint64_t)(rig_is_sim() ? 200 : 32) << 20; /* of 256 MiB */
	struct npurt_buffer *kept, *given, *taken;
	struct npurt_context *context;
	unsigned char *memory;
	struct rig rig;
	int file;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_context_create(rig.device, &options, &context));
	ok(npurt_buffer_alloc(context, most, 0, &kept));
	npurt_buffer_free(kept);
	ok(npurt_buffer_alloc(context, most, NPURT_BUFFER_EXPORT, &given));
	npurt_buffer_free(given);
	ok(npurt_buffer_alloc(context, most, 0, &kept));
	npurt_buffer_free(kept);
	file = foreign_memory(most, &memory);
	ok(npurt_buffer_import(context, file, 0, &taken));
	close(file);
	npurt_buffer_free(taken);
	munmap(memory, most);
	npurt_context_destroy(context);
	rig_free(&rig);
}

static void nothing_stays_open(void **state)
{
	int before = rig_open_fds(), i;
	struct npurt_buffer *given, *taken;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	for (i = 0; i < 200; i++) {
		make_pair(&rig, PAGE, 0, &given, &taken);
		npurt_buffer_free(i % 2 ? given : taken);
		npurt_buffer_free(i % 2 ? taken : given);
	}
	rig_free(&rig);
	assert_int_equal(rig_open_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_task_wrote_is_in_another_context),
		cmocka_unit_test(twice_in_one_context),
		cmocka_unit_test(memory_of_a_program),
		cmocka_unit_test(a_mapping_outlives_the_buffer),
		cmocka_unit_test(large_memory),
		cmocka_unit_test(the_device_writes_no_read_only_memory),
		cmocka_unit_test(only_what_was_made_for_it_is_exported),
		cmocka_unit_test(files_that_are_no_such_memory),
		cmocka_unit_test(a_memfd_that_could_shrink),
		cmocka_unit_test(the_pool_counts_what_is_exported_only),
		cmocka_unit_test(nothing_stays_open),
		cmocka_unit_test(what_is_kept_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
