// SPDX-License-Identifier: MIT
/*
 * Clients that do not keep to the protocol, or die. Whatever one does, the server tells it off or
 * hangs up, and serves the next one. Arguments: the server; how many connections send nonsense.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"
#include "mutate_message.h"

static struct vfio_server server;
static unsigned int sessions = 1000;

static void open_client(struct vfio_client *client)
{
	assert_int_equal(vfio_client_connect(client, &server), 0);
	assert_int_equal(vfio_client_negotiate(client), 0);
}

static void expect_id(struct vfio_client *client)
{
	uint32_t id;

	assert_int_equal(vfio_client_read(client, VC_BAR0, NPU_REG_ID, &id, 4), 0);
	assert_int_equal(id, NPU_ID_VALUE);
}

/* The server is still the same process, and has an answer for somebody new. */
static int check_server(void **state)
{
	struct vfio_client client;

	(void)state;
	assert_true(vfio_server_alive(&server));
	open_client(&client);
	expect_id(&client);
	vfio_client_close(&client);
	return 0;
}

static int call(struct vfio_client *client, uint16_t command, const void *payload, size_t size)
{
	uint8_t reply[256];
	size_t got;
	int result = vfio_client_post(client, command, 0, payload, size, NULL, 0);

	return result ? result : vfio_client_reply(client, command, reply, sizeof(reply), &got);
}

static void test_before_version(void **state)
{
	struct vfio_client client;
	uint8_t payload[64] = { 16 };

	(void)state;
	assert_int_equal(vfio_client_connect(&client, &server), 0);
	assert_int_equal(call(&client, VC_GET_INFO, payload, 16), EINVAL);
	assert_int_equal(call(&client, VC_RESET, NULL, 0), EINVAL);
	/* A version of another kind, then the right one, then again. */
	assert_int_equal(call(&client, VC_VERSION, "\1\0\0\0{}", 7), EINVAL);
	assert_int_equal(vfio_client_negotiate(&client), 0);
	assert_int_equal(vfio_client_negotiate(&client), EINVAL);
	expect_id(&client);
	vfio_client_close(&client);
}

static void test_lengths(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 15, 0x7fffffff, 0xffffffff, 70000 };
	struct vfio_client client;

	(void)state;
	/* Too short for what it is. */
	open_client(&client);
	for (uint16_t command = 0; command < 20; command++) {
		int expected = command == VC_RESET ? 0 : command && command <= 10 && command != 6 ?
			       EINVAL : command == VC_WRITE_MULTI ? EINVAL : ENOTSUP;

		assert_int_equal(call(&client, command, NULL, 0), expected);
	}
	expect_id(&client);
	vfio_client_close(&client);
	/* Lengths that leave no way to go on: the server hangs up. */
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t header[4] = { VC_RESET << 16 | 1, sizes[i], 0, 0 };
		uint8_t reply[16];
		size_t got;

		open_client(&client);
		assert_int_equal(vfio_client_send(&client, header, sizeof(header), NULL, 0), 0);
		assert_int_equal(vfio_client_reply(&client, VC_RESET, reply, sizeof(reply), &got),
				 EPIPE);
		vfio_client_close(&client);
	}
}

static void test_unknown(void **state)
{
	struct vfio_client client;
	uint8_t payload[512] = { 0 };

	(void)state;
	open_client(&client);
	assert_int_equal(call(&client, 14, payload, sizeof(payload)), ENOTSUP);
	assert_int_equal(call(&client, 6, payload, 32), ENOTSUP);
	assert_int_equal(call(&client, 12, payload, 32), ENOTSUP);
	assert_int_equal(call(&client, 999, payload, sizeof(payload)), ENOTSUP);
	expect_id(&client);
	vfio_client_close(&client);
}

static void test_regions_out_of_range(void **state)
{
	static const struct {
		uint32_t region, count;
		uint64_t offset;
	} bad[] = {
		{ VC_BAR0, 4, 65536 }, { VC_BAR0, 8, 65532 }, { VC_BAR0, 4, UINT64_MAX - 3 },
		{ VC_BAR0, 4, 1ull << 32 }, { 1, 4, 0 }, { 3, 4, 0 }, { 5, 4, 0 }, { 6, 4, 0 },
		{ 8, 4, 0 }, { 9, 4, 0 }, { UINT32_MAX, 4, 0 }, { VC_BAR2, 8, 4 << 20 },
		{ VC_BAR4, 4, 8192 }, { VC_CONFIG, 4, 4096 }, { VC_CONFIG, 4, 4094 },
		{ VC_CONFIG, 4097, 0 }, { VC_BAR2, 65537, 0 },
	};
	struct vfio_client client;
	uint8_t *data = calloc(1, 70000);

	(void)state;
	assert_non_null(data);
	open_client(&client);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(vfio_client_read(&client, bad[i].region, bad[i].offset, data,
						  bad[i].count), EINVAL);
		/* A write so long is no message at all. */
		if (bad[i].count <= 65536)
			assert_int_equal(vfio_client_write(&client, bad[i].region, bad[i].offset,
							   data, bad[i].count), EINVAL);
	}
	/* Allowed, and of no effect. */
	assert_int_equal(vfio_client_read(&client, VC_BAR2, 0, data, 65536), 0);
	assert_int_equal(vfio_client_write(&client, VC_BAR0, 0, data, 65536), 0);
	assert_int_equal(vfio_client_write(&client, VC_BAR4, 1, data, 3), 0);
	expect_id(&client);
	free(data);
	vfio_client_close(&client);
}

static void test_descriptors(void **state)
{
	struct vfio_client client;
	uint32_t irqs[5] = { 20, 0x24, VC_MSIX, 0, 16 };
	int fds[24];

	(void)state;
	for (unsigned int i = 0; i < 24; i++)
		fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	open_client(&client);
	/* Where none belong; more than there are vectors; more than a message takes. */
	assert_int_equal(vfio_client_call(&client, VC_RESET, NULL, 0, fds, 1, NULL, 0), EINVAL);
	assert_int_equal(vfio_client_call(&client, VC_SET_IRQS, irqs, 20, fds, 16, NULL, 0),
			 EINVAL);
	irqs[4] = 4;
	assert_int_equal(vfio_client_call(&client, VC_SET_IRQS, irqs, 20, fds, 3, NULL, 0), EINVAL);
	assert_int_equal(vfio_client_call(&client, VC_SET_IRQS, irqs, 20, fds, 4, NULL, 0), 0);
	expect_id(&client);
	assert_int_equal(vfio_client_call(&client, VC_RESET, NULL, 0, fds, 24, NULL, 0), EPIPE);
	vfio_client_close(&client);
	/* None is kept: the server would soon run out of them. */
	for (unsigned int i = 0; i < 200; i++) {
		open_client(&client);
		assert_int_equal(vfio_client_call(&client, VC_RESET, NULL, 0, fds, 16, NULL, 0),
				 EINVAL);
		vfio_client_close(&client);
	}
	for (unsigned int i = 0; i < 24; i++)
		close(fds[i]);
}

static void test_dies_in_a_message(void **state)
{
	static const uint8_t message[40] = { 1, 0, VC_REGION_WRITE, 0, 36 };
	struct vfio_client client;

	(void)state;
	for (size_t size = 1; size < 36; size++) {
		open_client(&client);
		assert_int_equal(vfio_client_send(&client, message, size, NULL, 0), 0);
		vfio_client_close(&client);
		check_server(state);
	}
	/* In pieces, but all of it: as if it were one. */
	assert_int_equal(vfio_client_connect(&client, &server), 0);
	for (size_t i = 0; i < 36; i++)
		assert_int_equal(vfio_client_send(&client, message + i, 1, NULL, 0), 0);
	client.id = 1;
	assert_int_equal(vfio_client_reply(&client, VC_REGION_WRITE, NULL, 0, &(size_t){ 0 }),
			 EINVAL);
	vfio_client_close(&client);
	/* With replies that nobody takes. */
	open_client(&client);
	for (unsigned int i = 0; i < 50; i++) {
		uint32_t read[4] = { 0, 0, VC_CONFIG, 4096 };

		assert_int_equal(vfio_client_post(&client, VC_REGION_READ, 0, read, 16, NULL, 0),
				 0);
	}
	vfio_client_close(&client);
}

static void test_memory(void **state)
{
	struct vfio_client client;
	int fd = memfd_create("small", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, 8192), 0);
	open_client(&client);
	assert_int_equal(vfio_client_map(&client, 0, 8192, fd, 4096, 3), EINVAL);
	assert_int_equal(vfio_client_map(&client, 0, 1ull << 62, fd, 0, 3), EINVAL);
	assert_int_equal(vfio_client_map(&client, 0, 8192, fd, 0, 3), 0);
	assert_int_equal(vfio_client_map(&client, 4096, 8192, fd, 0, 3), EEXIST);
	assert_int_equal(vfio_client_map(&client, UINT64_MAX - 4095, 4096, fd, 0, 3), 0);
	/* Nothing there; half there; all. */
	assert_int_equal(vfio_client_unmap(&client, 1ull << 40, 4096), 0);
	assert_int_equal(vfio_client_unmap(&client, 4096, 1ull << 41), 0);
	assert_int_equal(vfio_client_map(&client, 4096, 4096, fd, 0, 3), 0);
	assert_int_equal(vfio_client_unmap(&client, 0, 1ull << 63), 0);
	assert_int_equal(vfio_client_unmap(&client, 1ull << 63, 1ull << 63), 0);
	assert_int_equal(vfio_client_map(&client, UINT64_MAX - 4095, 4096, fd, 0, 3), 0);
	vfio_client_close(&client);
	close(fd);
}

/* Guest memory without share=on: the device does not start, and says why. */
static void test_memory_without_file(void **state)
{
	struct vfio_client client;
	uint8_t info[16] = { 16 };
	int fd = memfd_create("ram", MFD_CLOEXEC);

	(void)state;
	open_client(&client);
	assert_int_equal(vfio_client_map(&client, 0, 1 << 30, -1, 0, 3), 0);
	assert_int_equal(call(&client, VC_GET_INFO, info, 16), EINVAL);
	/* ROMs and the memory of other cards come without a file beside memory with one. */
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(vfio_client_map(&client, 1ull << 32, 8192, fd, 0, 3), 0);
	assert_int_equal(vfio_client_call(&client, VC_GET_INFO, info, 16, NULL, 0, info, 16), 0);
	close(fd);
	vfio_client_close(&client);
}

static uint64_t next(uint64_t *dice)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return *dice;
}

/* Random register, doorbell, table and configuration accesses, as a broken guest makes them. */
static void test_random_accesses(void **state)
{
	static const uint32_t regions[] = { VC_BAR0, VC_BAR0, VC_BAR2, VC_BAR4, VC_CONFIG };
	static const uint64_t sizes[] = { 0x9000, 0x700, 4 << 20, 8192, 256 };
	static const uint32_t counts[] = { 1, 2, 4, 4, 4, 8 };
	struct vfio_client client;
	uint64_t dice = 0x1234567;
	int fd = memfd_create("ram", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	open_client(&client);
	assert_int_equal(vfio_client_map(&client, 0, 1 << 20, fd, 0, 3), 0);
	for (unsigned int i = 0; i < 10000; i++) {
		unsigned int kind = (unsigned int)(next(&dice) % 5);
		uint32_t count = counts[next(&dice) % 6];
		uint64_t offset = next(&dice) % sizes[kind];
		uint64_t value = next(&dice) % 3 ? next(&dice) : next(&dice) % 16;
		int result;

		if (next(&dice) % 4)
			offset &= ~7ull;
		if (offset + count > sizes[kind])
			offset = 0;
		result = next(&dice) % 4 ?
			 vfio_client_write(&client, regions[kind], offset, &value, count) :
			 vfio_client_read(&client, regions[kind], offset, &value, count);
		assert_int_equal(result, 0);
	}
	expect_id(&client);
	close(fd);
	vfio_client_close(&client);
}

/* Reads until the server hangs up, which it must do. */
static void drain(struct vfio_client *client)
{
	uint8_t bytes[4096];
	ssize_t got;

	do {
		struct pollfd ready = { .fd = client->socket, .events = POLLIN };

		assert_int_equal(poll(&ready, 1, 60000), 1);
		got = recv(client->socket, bytes, sizeof(bytes), 0);
	} while (got > 0);
}

/* Right and damaged messages in any order, with and without descriptors, cut off at the end. */
static void test_random_messages(void **state)
{
	uint64_t dice = 0xfeedf00d;
	int fds[2];

	(void)state;
	fds[0] = memfd_create("ram", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fds[0], 1 << 20), 0);
	fds[1] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (unsigned int session = 0; session < sessions; session++) {
		struct vfio_client client;

		assert_int_equal(vfio_client_connect(&client, &server), 0);
		if (message_roll(&dice, 10))
			assert_int_equal(vfio_client_negotiate(&client), 0);
		for (unsigned int i = message_roll(&dice, 12); i > 0; i--) {
			uint8_t bytes[MESSAGE_ROOM];
			size_t size = message_make(&dice, bytes);
			unsigned int count = message_roll(&dice, 3) ? 0 : message_roll(&dice, 3);

			if (message_roll(&dice, 3))
				message_damage(&dice, bytes, size);
			if (!message_roll(&dice, 20))
				size = 1 + message_roll(&dice, (uint32_t)size);
			if (vfio_client_send(&client, bytes, size, fds + message_roll(&dice, 2),
					     count > 1 ? 1 : count))
				break;
		}
		shutdown(client.socket, SHUT_WR);
		drain(&client);
		vfio_client_close(&client);
	}
	close(fds[0]);
	close(fds[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_before_version, check_server),
		cmocka_unit_test_teardown(test_lengths, check_server),
		cmocka_unit_test_teardown(test_unknown, check_server),
		cmocka_unit_test_teardown(test_regions_out_of_range, check_server),
		cmocka_unit_test_teardown(test_descriptors, check_server),
		cmocka_unit_test_teardown(test_dies_in_a_message, check_server),
		cmocka_unit_test_teardown(test_memory, check_server),
		cmocka_unit_test_teardown(test_memory_without_file, check_server),
		cmocka_unit_test_teardown(test_random_accesses, check_server),
		cmocka_unit_test_teardown(test_random_messages, check_server),
	};
	int failed, status;

	if (argc == 3)
		sessions = (unsigned int)strtoul(argv[2], NULL, 10);
	if (argc < 2 || argc > 3 || !vfio_server_start(&server, argv[1], NULL))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	status = vfio_server_stop(&server);
	if (status) {
		fprintf(stderr, "the server ended with status %d\n", status);
		return 1;
	}
	return failed;
}
