// SPDX-License-Identifier: MIT
/* A guest without a kernel. See guest.h. */
#include "guest.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "npu/npu_firmware.h"

#define SECONDS_MAX	60
#define PAGE		4096u
#define COMMAND		0x04
#define MSI_CONTROL	0x52
#define MSIX_CONTROL	0xb2

static void wait_a_little(time_t begin, const char *what)
{
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	if (time(NULL) - begin > SECONDS_MAX)
		fail_msg("no %s after %d s", what, SECONDS_MAX);
}

void guest_connect(struct guest *guest)
{
	const uint32_t both = 3;
	uint8_t info[16] = { 16 };

	assert_int_equal(vfio_client_connect(&guest->client, &guest->server), 0);
	assert_int_equal(vfio_client_negotiate(&guest->client), 0);
	assert_int_equal(vfio_client_map(&guest->client, GUEST_LOW, GUEST_LOW_BYTES,
					 guest->memory_fd, 0, both), 0);
	assert_int_equal(vfio_client_map(&guest->client, GUEST_HIGH, GUEST_BYTES - GUEST_LOW_BYTES,
					 guest->memory_fd, GUEST_LOW_BYTES, both), 0);
	assert_int_equal(vfio_client_call(&guest->client, VC_GET_INFO, info, 16, NULL, 0, info, 16),
			 0);
	guest_config_write(guest, COMMAND, 0x6, 2);
}

void guest_attach_irqs(struct guest *guest, bool msi)
{
	if (msi)
		guest_config_write(guest, MSI_CONTROL, 2u << 4 | 1, 2);
	else
		guest_config_write(guest, MSIX_CONTROL, 0x8000, 2);
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++)
		assert_int_equal(vfio_client_eventfds(&guest->client, msi ? VC_MSI : VC_MSIX, i, 1,
						      &guest->eventfd[i]), 0);
}

void guest_start(struct guest *guest, const char *program, const char *const *options)
{
	memset(guest, 0, sizeof(*guest));
	assert_true(vfio_server_start(&guest->server, program, options));
	guest->memory_fd = memfd_create("guest", MFD_CLOEXEC);
	assert_true(guest->memory_fd >= 0);
	assert_int_equal(ftruncate(guest->memory_fd, GUEST_BYTES), 0);
	guest->memory = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			     guest->memory_fd, 0);
	assert_ptr_not_equal(guest->memory, MAP_FAILED);
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++) {
		guest->eventfd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		assert_true(guest->eventfd[i] >= 0);
	}
	guest_connect(guest);
	guest_attach_irqs(guest, options && options[0] && !strcmp(options[0], "--msi-only"));
}

void guest_stop(struct guest *guest)
{
	vfio_client_close(&guest->client);
	assert_int_equal(vfio_server_stop(&guest->server), 0);
	npu_pgtable_fini(&guest->pagetable);
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++)
		close(guest->eventfd[i]);
	munmap(guest->memory, GUEST_BYTES);
	close(guest->memory_fd);
}

/* From the end, so that most of it lies in the upper piece. */
uint64_t guest_pages(struct guest *guest, unsigned int count)
{
	guest->used += (uint64_t)count * PAGE;
	assert_true(guest->used <= GUEST_BYTES - GUEST_LOW_BYTES);
	return GUEST_HIGH + GUEST_BYTES - GUEST_LOW_BYTES - guest->used;
}

void *guest_pointer(struct guest *guest, uint64_t address)
{
	if (address >= GUEST_HIGH)
		return guest->memory + GUEST_LOW_BYTES + (address - GUEST_HIGH);
	return guest->memory + (address - GUEST_LOW);
}

uint32_t guest_read(struct guest *guest, uint32_t offset)
{
	uint32_t value;

	assert_int_equal(vfio_client_read(&guest->client, VC_BAR0, offset, &value, 4), 0);
	return value;
}

void guest_write(struct guest *guest, uint32_t offset, uint32_t value)
{
	assert_int_equal(vfio_client_write_posted(&guest->client, VC_BAR0, offset, &value, 4), 0);
}

uint32_t guest_config_read(struct guest *guest, uint32_t offset, uint32_t count)
{
	uint32_t value = 0;

	assert_int_equal(vfio_client_read(&guest->client, VC_CONFIG, offset, &value, count), 0);
	return value;
}

void guest_config_write(struct guest *guest, uint32_t offset, uint32_t value, uint32_t count)
{
	assert_int_equal(vfio_client_write(&guest->client, VC_CONFIG, offset, &value, count), 0);
}

static void write_pair(struct guest *guest, uint32_t offset, uint64_t value)
{
	guest_write(guest, offset, (uint32_t)value);
	guest_write(guest, offset + 4, (uint32_t)(value >> 32));
}

void guest_boot(struct guest *guest, const char *path)
{
	FILE *file = fopen(path, "rb");
	time_t begin = time(NULL);
	uint64_t address;
	size_t size;

	assert_non_null(file);
	address = guest_pages(guest, 80);
	size = fread(guest_pointer(guest, address), 1, 80 * PAGE, file);
	fclose(file);
	assert_true(size > NPU_FW_HEADER_SIZE);
	write_pair(guest, NPU_REG_BOOT_ADDRESS_LO, address);
	guest_write(guest, NPU_REG_BOOT_SIZE, (uint32_t)size);
	guest_write(guest, NPU_REG_IRQ_ENABLE, (1u << NPU_IRQ_COUNT) - 1);
	guest_write(guest, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(guest_read(guest, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RUNNING);
	while (guest_read(guest, NPU_REG_FW_STATE) != NPU_FW_STATE_READY)
		wait_a_little(begin, "ready firmware");
}

struct npu_message guest_exchange(struct guest *guest, uint16_t kind, const uint32_t *arguments,
				  unsigned int count)
{
	struct npu_message message = { .kind = kind, .sequence = ++guest->sequence };
	struct npu_message reply;
	time_t begin = time(NULL);
	uint32_t words[16];

	if (count)
		memcpy(message.argument, arguments, count * sizeof(*arguments));
	memcpy(words, &message, sizeof(words));
	for (unsigned int i = 0; i < 16; i++)
		guest_write(guest, NPU_REG_MAILBOX_TO_FW + 4 * i, words[i]);
	guest_write(guest, NPU_REG_MAILBOX_TO_FW_SEND, 1);
	while (!guest_read(guest, NPU_REG_MAILBOX_TO_HOST_SEND))
		wait_a_little(begin, "reply in the mailbox");
	for (unsigned int i = 0; i < 16; i++)
		words[i] = guest_read(guest, NPU_REG_MAILBOX_TO_HOST + 4 * i);
	guest_write(guest, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
	memcpy(&reply, words, sizeof(reply));
	assert_int_equal(reply.kind, kind);
	assert_int_equal(reply.sequence, message.sequence);
	return reply;
}

static void *table_alloc(void *owner, __u64 *dma)
{
	*dma = guest_pages(owner, 1);
	return guest_pointer(owner, *dma);
}

static void table_free(void *owner, void *table, __u64 dma)
{
	(void)owner;
	(void)table;
	(void)dma;
}

static void *host_alloc(void *owner, unsigned long bytes)
{
	(void)owner;
	return calloc(1, bytes);
}

static void host_free(void *owner, void *memory)
{
	(void)owner;
	free(memory);
}

static const struct npu_pgtable_ops pgtable_ops = {
	.table_alloc = table_alloc,
	.table_free = table_free,
	.host_alloc = host_alloc,
	.host_free = host_free,
};

void guest_map(struct guest *guest, uint64_t va, uint64_t address, unsigned int pages,
	       unsigned int prot)
{
	const struct npu_pgtable_extent extent = {
		.address = address,
		.bytes = (uint64_t)pages * PAGE,
	};

	assert_int_equal(npu_pgtable_map(&guest->pagetable, va, &extent, 1, prot, 0), 0);
}

#define RING_VA	0x10000000ull

void guest_open(struct guest *guest)
{
	uint32_t context = 0;
	uint32_t queue[6] = { 0, 0, (uint32_t)RING_VA, 0, GUEST_RING_LOG2, 4 };
	struct npu_context_entry *entry;

	guest->context_table = guest_pages(guest, 1);
	guest->events = guest_pages(guest, 1);
	guest->faults = guest_pages(guest, 1);
	guest->semaphores = guest_pages(guest, 1);
	guest->thresholds = guest_pages(guest, 1);
	guest->ring = guest_pages(guest, 1);
	assert_int_equal(npu_pgtable_init(&guest->pagetable, &pgtable_ops, guest), 0);
	guest_map(guest, RING_VA, guest->ring, 1, NPU_PROT_READ | NPU_PROT_WRITE);

	entry = guest_pointer(guest, guest->context_table);
	entry->page_table = npu_pgtable_root(&guest->pagetable);
	entry->semaphores = guest->semaphores;
	entry->thresholds = guest->thresholds;
	entry->flags = NPU_CONTEXT_VALID;
	write_pair(guest, NPU_REG_CONTEXT_TABLE_LO, guest->context_table);
	write_pair(guest, NPU_REG_EVENT_BASE_LO, guest->events);
	guest_write(guest, NPU_REG_EVENT_LOG2, GUEST_EVENTS_LOG2);
	write_pair(guest, NPU_REG_FAULT_BASE_LO, guest->faults);
	guest_write(guest, NPU_REG_FAULT_LOG2, GUEST_EVENTS_LOG2);
	guest_write(guest, NPU_REG_CONTEXT_UPDATE, context);
	assert_int_equal(guest_exchange(guest, NPU_MESSAGE_CONTEXT_CREATE, &context, 1).status, 0);
	assert_int_equal(guest_exchange(guest, NPU_MESSAGE_QUEUE_CREATE, queue, 6).status, 0);
}

void guest_push(struct guest *guest, const void *packet)
{
	struct npu_ring_control *ring = guest_pointer(guest, guest->ring);
	uint64_t index = guest->write_index++;
	uint64_t size = 1ull << GUEST_RING_LOG2;
	uint8_t *slot = (uint8_t *)ring + NPU_RING_PACKETS_OFFSET +
			(index & (size - 1)) * NPU_PACKET_BYTES;
	uint32_t header;

	memcpy(&header, packet, sizeof(header));
	if (!(index >> GUEST_RING_LOG2 & 1))
		header |= NPU_PACKET_PHASE;
	memcpy(slot + 4, (const uint8_t *)packet + 4, NPU_PACKET_BYTES - 4);
	__atomic_store_n((uint32_t *)slot, header, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->write_index, guest->write_index, __ATOMIC_RELEASE);
}

void guest_doorbell(struct guest *guest)
{
	assert_int_equal(vfio_client_write_posted(&guest->client, VC_BAR2, NPU_DOORBELL_RING,
						  &guest->write_index, 8), 0);
}

uint64_t guest_interrupts(struct guest *guest, unsigned int vector, int ms)
{
	struct pollfd ready = { .fd = guest->eventfd[vector], .events = POLLIN };
	uint64_t count = 0;

	if (poll(&ready, 1, ms) == 1 &&
	    read(guest->eventfd[vector], &count, sizeof(count)) != sizeof(count))
		count = 0;
	return count;
}

void guest_wait64(struct guest *guest, uint64_t address, uint64_t value)
{
	const uint64_t *word = guest_pointer(guest, address);
	time_t begin = time(NULL);

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		wait_a_little(begin, "value in memory");
}
