// SPDX-License-Identifier: MIT
/* Buffers of memory that the program has already. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rig.h"

static size_t page;

static unsigned char *map(size_t pages)
{
	unsigned char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

/* The model's run on other buffers than the rig's. */
static int run_on(const struct rig *rig, struct npurt_buffer *x, struct npurt_buffer *y)
{
	struct npurt_binding bindings[2] = { { .buffer = x }, { .buffer = y } };

	return npurt_run(rig->model, bindings, 2, NULL);
}

/* ------------------------------------------------------------------ it works */

static void tasks_read_and_write_it(void **state)
{
	unsigned char *in = map(3), *out = aligned_alloc(page, page);
	struct npurt_buffer *x, *y;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	assert_non_null(out);
	ok(npurt_buffer_wrap(rig.context, in, 3 * page, 0, &x));
	ok(npurt_buffer_wrap(rig.context, out, page, 0, &y));
	assert_ptr_equal(npurt_buffer_map(x), in);
	assert_int_equal(npurt_buffer_bytes(x), 3 * page);
	for (int start = 0; start < 5; start++) {
		rig_fill(&rig, x, y, start);
		ok(run_on(&rig, x, y));
		rig_check(&rig, y, start);
	}
	npurt_buffer_free(x);
	npurt_buffer_free(y);
	/* The program's as before. */
	memset(in, 1, 3 * page);
	munmap(in, 3 * page);
	free(out);
	rig_free(&rig);
}

static void the_same_memory_twice(void **state)
{
	unsigned char *memory = map(1);
	struct npurt_buffer *one, *other;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_buffer_wrap(rig.context, memory, page, 0, &one));
	ok(npurt_buffer_wrap(rig.context, memory, page, NPURT_BUFFER_READ_ONLY, &other));
	rig_fill(&rig, rig.x, one, 7);
	ok(run_on(&rig, rig.x, one));
	npurt_buffer_free(one);
	rig_check(&rig, other, 7);
	/* As an input the one that is left still works, and as an output it never did. */
	ok(run_on(&rig, other, rig.y));
	assert_true(run_on(&rig, rig.x, other) < 0);
	npurt_buffer_free(other);
	munmap(memory, page);
	rig_free(&rig);
}

static void memory_that_is_read_only(void **state)
{
	unsigned char *memory = map(1);
	struct npurt_buffer *x = NULL;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	rig_fill(&rig, rig.x, rig.y, 4);
	memcpy(memory, npurt_buffer_map(rig.x), rig.elements * 2);
	mprotect(memory, page, PROT_READ);
	assert_int_equal(npurt_buffer_wrap(rig.context, memory, page, 0, &x), -EFAULT);
	assert_says("NPURT_BUFFER_READ_ONLY");
	assert_null(x);
	ok(npurt_buffer_wrap(rig.context, memory, page, NPURT_BUFFER_READ_ONLY, &x));
	ok(run_on(&rig, x, rig.y));
	rig_check(&rig, rig.y, 4);
	npurt_buffer_free(x);
	munmap(memory, page);
	rig_free(&rig);
}

/* Pages of the device's that were one thing are another one a moment later. */
static void in_turns_with_other_buffers(void **state)
{
	struct npurt_buffer *x, *y;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	for (int round = 0; round < 40; round++) {
		unsigned char *in = map(1), *out = map(1);

		ok(npurt_buffer_wrap(rig.context, in, page, 0, &x));
		ok(npurt_buffer_wrap(rig.context, out, page, 0, &y));
		rig_fill(&rig, x, y, round);
		ok(run_on(&rig, x, y));
		rig_check(&rig, y, round);
		npurt_buffer_free(x);
		npurt_buffer_free(y);
		munmap(in, page);
		munmap(out, page);

		ok(npurt_buffer_alloc(rig.context, page, 0, &x));
		ok(npurt_buffer_alloc(rig.context, page, 0, &y));
		rig_fill(&rig, x, y, round + 1);
		ok(run_on(&rig, x, y));
		rig_check(&rig, y, round + 1);
		npurt_buffer_free(y);
		npurt_buffer_free(x);
	}
	rig_free(&rig);
}

static void a_task_in_flight_keeps_the_buffer(void **state)
{
	const struct tiny_options slow = { .kind = TINY_SLOW, .trips = 20000 };
	unsigned char *out = map(1);
	struct npurt_future *future;
	struct npurt_binding bindings[2] = { 0 };
	struct npurt_buffer *y;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, &slow);
	ok(npurt_buffer_wrap(rig.context, out, page, 0, &y));
	rig_fill(&rig, rig.x, y, 2);
	bindings[0].buffer = rig.x;
	bindings[1].buffer = y;
	ok(npurt_run_submit(rig.model, bindings, 2, NULL, &future));
	npurt_buffer_free(y);
	ok(npurt_future_wait(future, NPURT_FOREVER));
	npurt_future_release(future);
	memcpy(npurt_buffer_map(rig.y), out, page);
	rig_check(&rig, rig.y, 2);
	rig_free(&rig);
	munmap(out, page);
}

/* ------------------------------------------------------------ what is refused */

static void refuse(const struct rig *rig, void *memory, uint64_t bytes, uint32_t flags, int error,
		   const char *words)
{
	struct npurt_buffer *buffer = NULL;

	assert_int_equal(npurt_buffer_wrap(rig->context, memory, bytes, flags, &buffer), error);
	assert_says(words);
	assert_null(buffer);
}

static void what_is_no_such_memory(void **state)
{
	struct npurt_context_status before = { .size = sizeof(before) }, after = before;
	unsigned char *memory = map(4);
	struct npurt_buffer *buffer;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_context_get_status(rig.context, &before));
	refuse(&rig, NULL, page, 0, -EINVAL, "pages");
	refuse(&rig, memory, 0, 0, -EINVAL, "pages");
	refuse(&rig, memory + 64, page, 0, -EINVAL, "begins and ends with pages");
	refuse(&rig, memory, page + 64, 0, -EINVAL, "begins and ends with pages");
	refuse(&rig, memory, (uint64_t)1 << 60, 0, -EINVAL, "holds buffers of up to");
	refuse(&rig, memory, page, NPURT_BUFFER_EXPORT, -EINVAL, "flags");
	refuse(&rig, memory, page, 1u << 9, -EINVAL, "flags 0x200");
	munmap(memory + 2 * page, page);
	refuse(&rig, memory, 4 * page, 0, -EFAULT, "not all the program's to write");
	refuse(&rig, memory, 4 * page, NPURT_BUFFER_READ_ONLY, -EFAULT, "to read");
	mprotect(memory, page, PROT_NONE);
	refuse(&rig, memory, 2 * page, NPURT_BUFFER_READ_ONLY, -EFAULT, "to read");
	assert_int_equal(npurt_buffer_wrap(NULL, memory, page, 0, &buffer), -EINVAL);
	assert_int_equal(npurt_buffer_wrap(rig.context, memory, page, 0, NULL), -EINVAL);
	ok(npurt_context_get_status(rig.context, &after));
	assert_int_equal(after.buffer_bytes, before.buffer_bytes);
	munmap(memory, 4 * page);
	rig_free(&rig);
}

static void it_is_not_exported(void **state)
{
	unsigned char *memory = map(1);
	struct npurt_buffer *buffer;
	int file = -7;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL, NULL);
	ok(npurt_buffer_wrap(rig.context, memory, page, 0, &buffer));
	assert_int_equal(npurt_buffer_export(buffer, &file), -EINVAL);
	assert_int_equal(file, -7);
	npurt_buffer_free(buffer);
	munmap(memory, page);
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_read_and_write_it),
		cmocka_unit_test(the_same_memory_twice),
		cmocka_unit_test(memory_that_is_read_only),
		cmocka_unit_test(in_turns_with_other_buffers),
		cmocka_unit_test(a_task_in_flight_keeps_the_buffer),
		cmocka_unit_test(what_is_no_such_memory),
		cmocka_unit_test(it_is_not_exported),
	};

	page = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
