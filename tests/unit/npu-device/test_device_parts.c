// SPDX-License-Identifier: MIT
/* Parser, memory map, configuration space and interrupts, each alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "bus_guard.h"
#include "config_space.h"
#include "dma_map.h"
#include "interrupts.h"
#include "vfio_user.h"

#define PAGE	4096u

/* ------------------------------------------------------------------- parser */
struct message {
	const char *what;
	uint16_t command;
	uint32_t flags;
	unsigned int words, fds;
	uint32_t word[8];
	int expected;
};

static const struct message messages[] = {
	{ "version", 1, 0, 1, 0, { 0x00010000 }, 0 },
	{ "version without its numbers", 1, 0, 0, 0, { 0 }, EINVAL },
	{ "version, text without an end", 1, 0, 2, 0, { 0, 0x7d7d7d7b }, EINVAL },
	{ "version with a descriptor", 1, 0, 1, 1, { 0 }, EINVAL },
	{ "map", 2, 0, 8, 1, { 32, 3, 0, 0, 0, 0, 4096, 0 }, 0 },
	{ "map without a file", 2, 0, 8, 0, { 32, 3, 0, 0, 0, 0, 4096, 0 }, 0 },
	{ "map, two files", 2, 0, 8, 2, { 32, 3, 0, 0, 0, 0, 4096, 0 }, EINVAL },
	{ "map, short", 2, 0, 7, 1, { 32, 3, 0, 0, 0, 0, 4096 }, EINVAL },
	{ "map of nothing", 2, 0, 8, 1, { 32, 3, 0, 0, 0, 0, 0, 0 }, EINVAL },
	{ "map, unknown flag", 2, 0, 8, 1, { 32, 7, 0, 0, 0, 0, 4096, 0 }, EINVAL },
	{ "map to the last byte", 2, 0, 8, 1, { 32, 3, 0, 0, ~0u - 4095, ~0u, 4096, 0 }, 0 },
	{ "map beyond it", 2, 0, 8, 1, { 32, 3, 0, 0, ~0u - 4095, ~0u, 4097, 0 }, EINVAL },
	{ "map, offset beyond all", 2, 0, 8, 1, { 32, 3, ~0u, ~0u, 0, 0, 4096, 0 }, EINVAL },
	{ "unmap", 3, 0, 6, 0, { 24, 0, 0, 0, 4096, 0 }, 0 },
	{ "unmap all", 3, 0, 6, 0, { 24, 2, 0, 0, 0, 0 }, 0 },
	{ "unmap all of a range", 3, 0, 6, 0, { 24, 2, 0, 0, 4096, 0 }, EINVAL },
	{ "unmap with a dirty bitmap", 3, 0, 6, 0, { 24, 1, 0, 0, 4096, 0 }, EINVAL },
	{ "unmap, wraps", 3, 0, 6, 0, { 24, 0, 2, 0, ~0u, ~0u }, EINVAL },
	{ "unmap, short", 3, 0, 5, 0, { 24, 0, 0, 0, 4096 }, EINVAL },
	{ "information", 4, 0, 4, 0, { 16 }, 0 },
	{ "information, small", 4, 0, 4, 0, { 15 }, EINVAL },
	{ "region", 5, 0, 8, 0, { 64, 0, 2 }, 0 },
	{ "region, small", 5, 0, 8, 0, { 31, 0, 2 }, EINVAL },
	{ "region files", 6, 0, 8, 0, { 64 }, ENOTSUP },
	{ "interrupt", 7, 0, 4, 0, { 16, 0, 2 }, 0 },
	{ "eventfd", 8, 0, 5, 1, { 20, 0x24, 2, 0, 1 }, 0 },
	{ "eventfds, one too few", 8, 0, 5, 1, { 20, 0x24, 2, 0, 2 }, EINVAL },
	{ "eventfds taken away", 8, 0, 5, 0, { 20, 0x24, 2, 0, 4 }, 0 },
	{ "disable", 8, 0, 5, 0, { 20, 0x21, 2, 0, 0 }, 0 },
	{ "disable with a file", 8, 0, 5, 1, { 20, 0x21, 2, 0, 1 }, EINVAL },
	{ "two kinds of data", 8, 0, 5, 0, { 20, 0x23, 2, 0, 0 }, EINVAL },
	{ "two actions", 8, 0, 5, 0, { 20, 0x31, 2, 0, 0 }, EINVAL },
	{ "no action", 8, 0, 5, 0, { 20, 0x01, 2, 0, 0 }, EINVAL },
	{ "vectors wrap", 8, 0, 5, 0, { 20, 0x21, 2, ~0u, 2 }, EINVAL },
	{ "booleans", 8, 0, 6, 0, { 20, 0x22, 2, 0, 4, 0x01010101 }, 0 },
	{ "booleans, one is missing", 8, 0, 6, 0, { 20, 0x22, 2, 0, 5, 0x01010101 }, EINVAL },
	{ "read", 9, 0, 4, 0, { 0, 0, 7, 4096 }, 0 },
	{ "read too much", 9, 0, 4, 0, { 0, 0, 7, 65537 }, EINVAL },
	{ "read, wraps", 9, 0, 4, 0, { ~0u, ~0u, 7, 4 }, EINVAL },
	{ "write", 10, 0, 5, 0, { 0, 0, 0, 4, 1 }, 0 },
	{ "write, posted", 10, 0x10, 5, 0, { 0, 0, 0, 4, 1 }, 0 },
	{ "write without its data", 10, 0, 4, 0, { 0, 0, 0, 4 }, EINVAL },
	{ "write with less than said", 10, 0, 5, 0, { 0, 0, 0, 8, 1 }, EINVAL },
	{ "write with more than said", 10, 0, 6, 0, { 0, 0, 0, 4, 1, 2 }, EINVAL },
	{ "memory read, which is ours to ask", 11, 0, 4, 0, { 0 }, ENOTSUP },
	{ "reset", 13, 0, 0, 0, { 0 }, 0 },
	{ "writes", 15, 0x10, 8, 0, { 1, 0, 0, 0, 0, 4, 1, 0 }, 0 },
	{ "writes, one is missing", 15, 0x10, 8, 0, { 2, 0, 0, 0, 0, 4, 1, 0 }, EINVAL },
	{ "writes, count overflows", 15, 0x10, 8, 0, { 0, 0x80000000, 0, 0, 0, 4, 1, 0 }, EINVAL },
	{ "command 0", 0, 0, 0, 0, { 0 }, ENOTSUP },
	{ "command 65535", 65535, 0, 0, 0, { 0 }, ENOTSUP },
	{ "a reply", 13, 1, 0, 0, { 0 }, EINVAL },
	{ "an error", 13, 0x20, 0, 0, { 0 }, EINVAL },
};

static void test_parser(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		const struct message *message = &messages[i];
		struct vfio_user_header header = {
			.command = message->command,
			.flags = message->flags,
			.size = VFIO_USER_HEADER_BYTES + message->words * 4,
		};
		/* Exactly as long as it says, for the sanitizer to see a step beyond. */
		uint8_t *payload = malloc(message->words * 4 + 1);
		struct vfio_user_request request;
		int result;

		assert_non_null(payload);
		memcpy(payload, message->word, message->words * 4);
		payload = realloc(payload, message->words ? message->words * 4 : 1);
		result = vfio_user_parse_request(&header, payload, message->fds, &request);
		free(payload);
		if (result != message->expected)
			fail_msg("%s: %d, not %d", message->what, result, message->expected);
	}
}

static void test_header(void **state)
{
	static const struct {
		uint32_t size;
		int expected;
	} sizes[] = {
		{ 0, EINVAL }, { 15, EINVAL }, { 16, 0 }, { VFIO_USER_MESSAGE_MAX, 0 },
		{ VFIO_USER_MESSAGE_MAX + 1, EINVAL }, { UINT32_MAX, EINVAL },
	};
	uint8_t bytes[16] = { 0x34, 0x12, 9, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0 };
	struct vfio_user_header header;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memcpy(bytes + 4, &sizes[i].size, 4);
		assert_int_equal(vfio_user_parse_header(bytes, &header), sizes[i].expected);
		assert_int_equal(header.id, 0x1234);
		assert_int_equal(header.command, 9);
		assert_int_equal(header.flags, 0x10);
	}
}

/* --------------------------------------------------------------- memory map */
static int make_file(size_t bytes, uint8_t fill)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	uint8_t *data;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	for (size_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(fill + i / PAGE);
	munmap(data, bytes);
	return fd;
}

static int byte_at(struct dma_map *map, uint64_t address)
{
	const uint8_t *data = dma_map_translate(map, address, 1, false);

	return data ? *data : -1;
}

static void test_map(void **state)
{
	struct dma_map *map = dma_map_create();
	int fd = make_file(16 * PAGE, 0);
	int again = dup(fd);
	uint8_t *low, *high;

	(void)state;
	assert_non_null(map);
	assert_int_equal(dma_map_add(map, 0x100000, 8 * PAGE, true, true, fd, 0), 0);
	assert_int_equal(dma_map_add(map, 0x900000, 8 * PAGE, true, false, again, 8 * PAGE), 0);
	close(fd);
	close(again);
	/* One mapping of one file. */
	low = dma_map_translate(map, 0x100000, PAGE, false);
	high = dma_map_translate(map, 0x900000, PAGE, false);
	assert_ptr_equal(low + 8 * PAGE, high);
	assert_int_equal(byte_at(map, 0x100000), 0);
	assert_int_equal(byte_at(map, 0x907fff), 15);
	/* Ends, permissions. */
	assert_null(dma_map_translate(map, 0xfffff, 1, false));
	assert_null(dma_map_translate(map, 0x107000, PAGE + 1, false));
	assert_null(dma_map_translate(map, 0x108000, 1, false));
	assert_null(dma_map_translate(map, 0x900000, 1, true));
	assert_non_null(dma_map_translate(map, 0x100000, 1, true));
	assert_null(dma_map_translate(map, 0x100000, 0, false));
	assert_null(dma_map_translate(map, UINT64_MAX, 2, false));
	dma_map_destroy(map);
}

static void test_map_refuses(void **state)
{
	struct dma_map *map = dma_map_create();
	int fd = make_file(4 * PAGE, 0);
	char path[64];
	int pipes[2], read_only;

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_only = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read_only >= 0);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(dma_map_add(map, 0, 5 * PAGE, true, true, fd, 0), EINVAL);
	assert_int_equal(dma_map_add(map, 0, PAGE, true, true, fd, 4 * PAGE), EINVAL);
	assert_int_equal(dma_map_add(map, 0, PAGE, true, true, fd, UINT64_MAX - PAGE + 1), EINVAL);
	assert_int_equal(dma_map_add(map, 0, PAGE, true, true, fd, 100), EINVAL);
	assert_int_equal(dma_map_add(map, 100, PAGE, true, true, fd, 0), EINVAL);
	assert_int_equal(dma_map_add(map, 0, 100, true, true, fd, 0), EINVAL);
	assert_int_equal(dma_map_add(map, 0, PAGE, true, true, pipes[0], 0), EINVAL);
	assert_int_equal(dma_map_add(map, 0, PAGE, true, true, read_only, 0), EACCES);
	assert_int_equal(dma_map_stats(map).with_file, 0);
	assert_int_equal(dma_map_add(map, 0, PAGE, true, false, read_only, 0), 0);
	assert_int_equal(dma_map_add(map, 0, PAGE, true, false, fd, 0), EEXIST);
	assert_int_equal(dma_map_add(map, PAGE, PAGE, true, true, fd, 0), 0);
	assert_int_equal(dma_map_add(map, 0, 4 * PAGE, true, false, -1, 0), EEXIST);
	assert_non_null(dma_map_translate(map, PAGE, 1, true));
	close(pipes[0]);
	close(pipes[1]);
	close(read_only);
	close(fd);
	dma_map_destroy(map);
}

/* Cut out of a region at both ends, in the middle, over several; against a list of bytes. */
static void test_unmap(void **state)
{
	static const struct {
		uint64_t page, pages;
	} cuts[] = { { 0, 1 }, { 15, 1 }, { 7, 2 }, { 3, 0 }, { 20, 5 }, { 5, 6 }, { 0, 64 } };
	struct dma_map *map = dma_map_create();
	int fd = make_file(16 * PAGE, 100);
	bool there[32] = { false };

	(void)state;
	assert_int_equal(dma_map_add(map, 0, 16 * PAGE, true, true, fd, 0), 0);
	assert_int_equal(dma_map_add(map, 24 * PAGE, PAGE, true, true, fd, PAGE), 0);
	memset(there, true, 16);
	there[24] = true;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		assert_int_equal(dma_map_remove(map, cuts[i].page * PAGE, cuts[i].pages * PAGE), 0);
		for (uint64_t page = 0; page < 32; page++) {
			int expected = page == 24 ? 101 : 100 + (int)page;

			if (page >= cuts[i].page && page < cuts[i].page + cuts[i].pages)
				there[page] = false;
			assert_int_equal(byte_at(map, page * PAGE), there[page] ? expected : -1);
		}
	}
	assert_int_equal(dma_map_stats(map).with_file, 0);
	close(fd);
	dma_map_destroy(map);
}

static void test_without_file(void **state)
{
	struct dma_map *map = dma_map_create();

	(void)state;
	/* A ROM of any size. */
	assert_int_equal(dma_map_add(map, 0xc0000, 100, true, false, -1, 0), 0);
	assert_int_equal(dma_map_stats(map).without_file, 0);
	assert_int_equal(dma_map_add(map, 0, PAGE, true, true, -1, 0), 0);
	assert_int_equal(dma_map_stats(map).without_file, 1);
	assert_false(dma_map_stats(map).missed);
	assert_null(dma_map_translate(map, 0, 1, false));
	assert_true(dma_map_stats(map).missed);
	dma_map_clear(map);
	assert_false(dma_map_stats(map).missed);
	dma_map_destroy(map);
}

/* More files than are kept: those in use stay, those out of use make room. */
static void test_many_files(void **state)
{
	struct dma_map *map = dma_map_create();

	(void)state;
	for (unsigned int i = 0; i < DMA_MAP_FILES_MAX; i++) {
		int fd = make_file(PAGE, (uint8_t)i);

		assert_int_equal(dma_map_add(map, i * 2ull * PAGE, PAGE, true, true, fd, 0), 0);
		close(fd);
	}
	for (unsigned int round = 0; round < 3; round++) {
		int fd = make_file(PAGE, 200);

		assert_int_equal(dma_map_add(map, 1ull << 40, PAGE, true, true, fd, 0),
				 round ? 0 : ENOSPC);
		assert_int_equal(dma_map_remove(map, round ? 1ull << 40 : 0, PAGE), 0);
		close(fd);
	}
	for (unsigned int i = 1; i < DMA_MAP_FILES_MAX; i++)
		assert_int_equal(byte_at(map, i * 2ull * PAGE), i);
	dma_map_destroy(map);
}

static void test_shrunk_file(void **state)
{
	struct dma_map *map = dma_map_create();
	int fd = make_file(4 * PAGE, 1);
	uint8_t *data;

	(void)state;
	bus_guard_install();
	assert_int_equal(dma_map_add(map, 0, 4 * PAGE, true, true, fd, 0), 0);
	data = dma_map_translate(map, 2 * PAGE, PAGE, true);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(*(volatile uint8_t *)data, 0);
	*(volatile uint8_t *)(data + PAGE) = 5;
	assert_int_equal(byte_at(map, 0), 1);
	close(fd);
	dma_map_destroy(map);
}

/* --------------------------------------------------- configuration, interrupts */
static void test_config_bits(void **state)
{
	struct config_space space;
	uint8_t ones[CONFIG_SPACE_BYTES], before[CONFIG_SPACE_BYTES], after[CONFIG_SPACE_BYTES];
	size_t outside = 0;

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	config_space_init(&space, false);
	config_space_read(&space, 0, sizeof(before), before);
	assert_int_equal(config_space_write(&space, 0, sizeof(ones), ones),
			 CONFIG_EFFECT_RESET | CONFIG_EFFECT_STATE);
	config_space_read(&space, 0, sizeof(after), after);
	/* Identity, types, capabilities and their list are not for writing. */
	assert_memory_equal(before, after, 4);
	assert_memory_equal(before + 8, after + 8, 4);
	assert_int_equal(after[0x0e], 0);
	assert_memory_equal(before + 0x2c, after + 0x2c, 4);
	assert_int_equal(after[0x34], before[0x34]);
	assert_memory_equal(before + CONFIG_CAP_MSIX + 4, after + CONFIG_CAP_MSIX + 4, 8);
	for (size_t i = 0x100; i < sizeof(after); i++)
		outside += after[i];
	assert_int_equal(outside, 0);
	config_space_reset(&space);
	config_space_read(&space, 0, sizeof(after), after);
	assert_memory_equal(before, after, sizeof(after));
}

static uint64_t count(int fd)
{
	uint64_t value = 0;

	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

static void test_msi_messages(void **state)
{
	struct config_state config = { .bus_master = true, .msi_enabled = true };
	struct interrupts irqs;
	int fds[NPU_IRQ_COUNT], kept[NPU_IRQ_COUNT], pipes[2];

	(void)state;
	interrupts_init(&irqs);
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++) {
		fds[i] = eventfd(0, EFD_NONBLOCK);
		kept[i] = dup(fds[i]);
	}
	assert_int_equal(interrupts_assign(&irqs, INTERRUPT_MSI, 1, NPU_IRQ_COUNT, fds), EINVAL);
	assert_int_equal(interrupts_assign(&irqs, INTERRUPT_MSI, UINT32_MAX, 2, fds), EINVAL);
	assert_int_equal(interrupts_assign(&irqs, INTERRUPT_MSI, 0, NPU_IRQ_COUNT, fds), 0);
	for (config.msi_messages = 1; config.msi_messages <= 4; config.msi_messages *= 2) {
		interrupts_configure(&irqs, &config);
		for (unsigned int cause = 0; cause < NPU_IRQ_COUNT; cause++) {
			interrupts_raise(&irqs, 1u << cause);
			for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++)
				assert_int_equal(count(kept[i]), i == cause % config.msi_messages);
		}
	}
	interrupts_disable(&irqs, INTERRUPT_MSI);
	interrupts_raise(&irqs, 15);
	assert_int_equal(count(kept[0]), 0);
	/* What could block is no eventfd. */
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(interrupts_assign(&irqs, INTERRUPT_MSI, 0, 1, &pipes[1]), EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	interrupts_release(&irqs);
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++)
		close(kept[i]);
}

/* An eventfd that is full neither blocks nor breaks. */
static void test_full_eventfd(void **state)
{
	struct config_state config = { .bus_master = true, .msix_enabled = true };
	struct interrupts irqs;
	const uint64_t full = UINT64_MAX - 1;
	int fd = eventfd(0, 0);

	(void)state;
	interrupts_init(&irqs);
	assert_int_equal(write(fd, &full, sizeof(full)), sizeof(full));
	assert_int_equal(interrupts_assign(&irqs, INTERRUPT_MSIX, 2, 1, &fd), 0);
	interrupts_configure(&irqs, &config);
	interrupts_raise(&irqs, 1u << 2);
	assert_int_equal(interrupts_sent(&irqs), 0);
	assert_int_equal(count(fd), full);
	interrupts_raise(&irqs, 1u << 2);
	assert_int_equal(interrupts_sent(&irqs), 1);
	interrupts_release(&irqs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parser),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_refuses),
		cmocka_unit_test(test_unmap),
		cmocka_unit_test(test_without_file),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_shrunk_file),
		cmocka_unit_test(test_config_bits),
		cmocka_unit_test(test_msi_messages),
		cmocka_unit_test(test_full_eventfd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
