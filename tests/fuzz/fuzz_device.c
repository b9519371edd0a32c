// SPDX-License-Identifier: MIT
/*
 * Everything a hostile QEMU or guest can send to npu-device, for a time: messages that are right,
 * damaged, cut off, out of order; and, on a card that runs its firmware and works, random accesses to
 * registers, doorbells, interrupt table and configuration space, and random memory. After every
 * connection the server must be alive and have an answer for the next one.
 *
 * Arguments: the server, the firmware's image. Environment: FUZZ_SECONDS (20), FUZZ_SEED (1).
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "mutate_message.h"
#include "npu/npu_firmware.h"

#define HANG_UP_MS	60000

struct fuzz {
	uint64_t dice;
	const char *image;
	struct guest guest;
	int event;
	unsigned long raw, booted;
	unsigned long messages, accesses;
};

static uint32_t roll(struct fuzz *fuzz, uint32_t sides)
{
	return message_roll(&fuzz->dice, sides);
}

/* Often small, often a border, sometimes anything. */
static uint64_t any_value(struct fuzz *fuzz)
{
	uint64_t value = (uint64_t)roll(fuzz, UINT32_MAX) << 32 | roll(fuzz, UINT32_MAX);

	switch (roll(fuzz, 4)) {
	case 0:
		return value % 16;
	case 1:
		return ~0ull >> roll(fuzz, 64);
	case 2:
		/* Memory that is there. */
		return (roll(fuzz, 2) ? GUEST_LOW : GUEST_HIGH) + value % GUEST_LOW_BYTES;
	default:
		return value;
	}
}

static bool send_message(struct fuzz *fuzz, struct vfio_client *client)
{
	const int fds[2] = { fuzz->guest.memory_fd, fuzz->event };
	uint8_t bytes[MESSAGE_ROOM];
	size_t size = message_make(&fuzz->dice, bytes);
	unsigned int count = roll(fuzz, 3) ? 0 : 1;

	if (roll(fuzz, 3))
		message_damage(&fuzz->dice, bytes, size);
	if (!roll(fuzz, 20))
		size = 1 + roll(fuzz, (uint32_t)size);
	fuzz->messages++;
	return !vfio_client_send(client, bytes, size, fds + roll(fuzz, 2), count);
}

/* Reads until the server hangs up, which it must do soon. */
static bool hangs_up(struct vfio_client *client)
{
	uint8_t bytes[4096];
	ssize_t got;

	shutdown(client->socket, SHUT_WR);
	do {
		struct pollfd ready = { .fd = client->socket, .events = POLLIN };

		if (poll(&ready, 1, HANG_UP_MS) != 1)
			return false;
		got = recv(client->socket, bytes, sizeof(bytes), 0);
	} while (got > 0);
	return true;
}

static bool send_messages(struct fuzz *fuzz, struct vfio_client *client, unsigned int count)
{
	while (count-- && send_message(fuzz, client))
		;
	return hangs_up(client);
}

static bool fuzz_raw(struct fuzz *fuzz)
{
	struct vfio_client client;
	bool good;

	fuzz->raw++;
	if (vfio_client_connect(&client, &fuzz->guest.server))
		return false;
	if (roll(fuzz, 10) && vfio_client_negotiate(&client))
		return false;
	good = send_messages(fuzz, &client, roll(fuzz, 60));
	vfio_client_close(&client);
	return good;
}

/* A copy that is right, or as wrong as a program can write one. */
static void push_work(struct fuzz *fuzz)
{
	union {
		struct npu_packet_copy copy;
		uint64_t words[NPU_PACKET_BYTES / 8];
	} packet = {
		.copy = {
			.header = NPU_PACKET_HEADER(1 + roll(fuzz, 8), 0, 0),
			.task_id = 1,
			.destination = 0x10000000 + roll(fuzz, 4096),
			.source = 0x10000000 + roll(fuzz, 4096),
			.bytes = 1 + roll(fuzz, 4096),
			.signal_sem = (uint16_t)roll(fuzz, 8),
		},
	};

	for (uint32_t i = roll(fuzz, 3); i; i--)
		packet.words[1 + roll(fuzz, NPU_PACKET_BYTES / 8 - 1)] = any_value(fuzz);
	guest_push(&fuzz->guest, &packet);
	guest_doorbell(&fuzz->guest);
}

/* What the kernel and programs keep in memory: tables, rings, contexts. */
static void damage_memory(struct fuzz *fuzz)
{
	uint64_t *words = (uint64_t *)fuzz->guest.memory;
	uint64_t used = fuzz->guest.used / 8;
	uint64_t value = any_value(fuzz);

	__atomic_store_n(words + GUEST_BYTES / 8 - 1 - value % used, any_value(fuzz),
			 __ATOMIC_RELAXED);
}

static bool access_card(struct fuzz *fuzz)
{
	static const uint32_t regions[] = { VC_BAR0, VC_BAR0, VC_BAR0, VC_BAR2, VC_BAR4, VC_CONFIG };
	static const uint32_t sizes[] = { 0x700, 0x700, 0x10000, 4 << 20, 8192, 4096 };
	static const uint32_t counts[] = { 1, 2, 4, 4, 4, 8 };
	uint32_t kind = roll(fuzz, 6);
	uint32_t count = counts[roll(fuzz, 6)];
	uint32_t offset = roll(fuzz, sizes[kind] - count + 1);
	uint64_t value = any_value(fuzz);

	if (roll(fuzz, 8))
		offset &= ~(count - 1);
	/* Doorbells are at the beginnings of pages, and what configures in the first bytes. */
	if (kind == 3 && roll(fuzz, 4))
		offset &= 0x3f0008;
	if (kind == 5 && roll(fuzz, 4))
		offset &= 0xff & ~(count - 1);
	fuzz->accesses++;
	if (roll(fuzz, 4))
		return !vfio_client_write(&fuzz->guest.client, regions[kind], offset, &value,
					  count);
	return !vfio_client_read(&fuzz->guest.client, regions[kind], offset, &value, count);
}

/* The card is taken into use as a driver does it, and then treated as no driver does. */
static bool fuzz_booted(struct fuzz *fuzz)
{
	struct guest *guest = &fuzz->guest;
	bool good = true;

	fuzz->booted++;
	memset(guest->memory, 0, GUEST_BYTES);
	guest->used = 0;
	guest->write_index = 0;
	guest_connect(guest);
	guest_attach_irqs(guest, false);
	guest_boot(guest, fuzz->image);
	guest_open(guest);
	for (uint32_t i = 200 + roll(fuzz, 2000); i && good; i--) {
		switch (roll(fuzz, 8)) {
		case 0:
			push_work(fuzz);
			break;
		case 1:
			damage_memory(fuzz);
			break;
		default:
			good = access_card(fuzz);
			break;
		}
	}
	if (good)
		good = send_messages(fuzz, &guest->client, roll(fuzz, 20));
	vfio_client_close(&guest->client);
	npu_pgtable_fini(&guest->pagetable);
	return good;
}

/* The next client finds the card as after power on. */
static bool server_is_well(struct fuzz *fuzz)
{
	struct vfio_client client;
	uint32_t id = 0, state = 1;
	bool good;

	if (!vfio_server_alive(&fuzz->guest.server) ||
	    vfio_client_connect(&client, &fuzz->guest.server))
		return false;
	good = !vfio_client_negotiate(&client) &&
	       !vfio_client_read(&client, VC_BAR0, NPU_REG_ID, &id, 4) &&
	       !vfio_client_read(&client, VC_BAR0, NPU_REG_FW_STATE, &state, 4);
	vfio_client_close(&client);
	return good && id == NPU_ID_VALUE && state == NPU_FW_STATE_RESET;
}

static void make_memory(struct fuzz *fuzz)
{
	struct guest *guest = &fuzz->guest;

	guest->memory_fd = memfd_create("guest", MFD_CLOEXEC);
	assert_int_equal(ftruncate(guest->memory_fd, GUEST_BYTES), 0);
	guest->memory = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			     guest->memory_fd, 0);
	assert_ptr_not_equal(guest->memory, MAP_FAILED);
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++)
		guest->eventfd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	fuzz->event = guest->eventfd[0];
}

/* What the server says, and this program's assertions. */
static FILE *log;

static bool redirect_errors(void)
{
	log = tmpfile();
	return log && dup2(fileno(log), STDERR_FILENO) >= 0;
}

/* Only of interest when something went wrong, also when an assertion ended the program. */
static void show_end(void)
{
	char text[8192];
	size_t got;
	long size;

	if (!log)
		return;
	fseek(log, 0, SEEK_END);
	size = ftell(log);
	fseek(log, size > (long)sizeof(text) ? size - (long)sizeof(text) : 0, SEEK_SET);
	got = fread(text, 1, sizeof(text), log);
	fwrite(text, 1, got, stdout);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	uint64_t seconds = number_of("FUZZ_SECONDS", 20), seed = number_of("FUZZ_SEED", 1);
	struct fuzz fuzz = { .dice = seed * 0x9e3779b97f4a7c15ull + 1 };
	time_t end = time(NULL) + (time_t)seconds;
	unsigned long sessions = 0;
	bool good = true;
	int status;

	if (argc != 3 || !redirect_errors() || !vfio_server_start(&fuzz.guest.server, argv[1], NULL)) {
		puts("fuzz-device: the server does not start");
		return 1;
	}
	atexit(show_end);
	fuzz.image = argv[2];
	make_memory(&fuzz);
	while (good && time(NULL) < end) {
		good = roll(&fuzz, 4) ? fuzz_raw(&fuzz) : fuzz_booted(&fuzz);
		if (good)
			good = server_is_well(&fuzz);
		sessions += good;
	}
	status = vfio_server_stop(&fuzz.guest.server);
	printf("seed %llu: %lu connections of messages, %lu of a card at work; %lu messages, "
	       "%lu accesses\n", (unsigned long long)seed, fuzz.raw, fuzz.booted, fuzz.messages,
	       fuzz.accesses);
	if (!good || status)
		printf("connection %lu of this seed went wrong, the server ended with status %d\n",
		       sessions + 1, status);
	else
		log = NULL;
	printf("%lu passed, %d failed\n", sessions, !good || status);
	return good && !status ? 0 : 1;
}
