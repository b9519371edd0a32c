// SPDX-License-Identifier: MIT
/*
 * The card as a driver sees it, over the wire: configuration space, firmware, tasks through page
 * tables, interrupts, faults, resets. Arguments: the server, the firmware's image.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "npu/npu_firmware.h"
#include "npu/npu_isa.h"

static const char *program, *image;

#define WAIT_MS		60000
#define DATA_VA		0x20000000ull
#define CODE_VA		0x30000000ull
#define RO_VA		0x40000000ull
#define GONE_DMA	0x200000000ull

static void boot_and_open(struct guest *guest)
{
	uint32_t abi = NPU_MAILBOX_ABI_MAJOR << 16 | NPU_MAILBOX_ABI_MINOR;
	struct npu_message hello;

	guest_boot(guest, image);
	hello = guest_exchange(guest, NPU_MESSAGE_HELLO, &abi, 1);
	assert_int_equal(hello.status, 0);
	assert_int_equal(hello.argument[0], abi);
	assert_true(guest_interrupts(guest, 0, WAIT_MS) > 0);
	guest_open(guest);
}

static void test_configuration(void **state)
{
	struct guest guest;
	unsigned int seen = 0, at;
	uint8_t whole[4096];

	(void)state;
	guest_start(&guest, program, NULL);
	assert_int_equal(vfio_client_read(&guest.client, VC_CONFIG, 0, whole, sizeof(whole)), 0);
	assert_int_equal(guest_config_read(&guest, 0, 4), 0x4e501234);
	assert_int_equal(guest_config_read(&guest, 8, 4) >> 8, 0x120000);
	assert_int_equal(guest_config_read(&guest, 0x3d, 1), 0);
	/* The list of capabilities ends, and has what the manual says. */
	for (at = whole[0x34]; at && seen < 16; at = whole[at + 1])
		seen |= whole[at] == 0x01 ? 1 : whole[at] == 0x05 ? 2 : whole[at] == 0x10 ? 4 :
			whole[at] == 0x11 ? 8 : 16;
	assert_int_equal(seen, 15);
	/* Sizes, as software probes them; identity does not change. */
	guest_config_write(&guest, 0x10, 0xffffffff, 4);
	assert_int_equal(guest_config_read(&guest, 0x10, 4), 0xffff0000);
	guest_config_write(&guest, 0x18, 0xffffffff, 4);
	guest_config_write(&guest, 0x1c, 0xffffffff, 4);
	assert_int_equal(guest_config_read(&guest, 0x18, 4), 0xffc00004);
	assert_int_equal(guest_config_read(&guest, 0x1c, 4), 0xffffffff);
	guest_config_write(&guest, 0x20, 0xffffffff, 4);
	assert_int_equal(guest_config_read(&guest, 0x20, 4), 0xffffe000);
	guest_config_write(&guest, 0x24, 0xffffffff, 4);
	assert_int_equal(guest_config_read(&guest, 0x24, 4), 0);
	guest_config_write(&guest, 0, 0xffffffff, 4);
	assert_int_equal(guest_config_read(&guest, 0, 4), 0x4e501234);
	guest_stop(&guest);
}

static void test_regions(void **state)
{
	static const uint64_t sizes[9] = { 65536, 0, 4 << 20, 0, 8192, 0, 0, 4096, 0 };
	static const uint32_t vectors[3] = { 0, 4, 4 };
	struct guest guest;
	uint32_t flags, count;
	uint64_t size;

	(void)state;
	guest_start(&guest, program, NULL);
	for (uint32_t i = 0; i < 9; i++) {
		assert_int_equal(vfio_client_region(&guest.client, i, &size, &flags), 0);
		assert_int_equal(size, sizes[i]);
		/* With a region to map, QEMU would stop posting writes. */
		assert_int_equal(flags, size ? 3 : 0);
		assert_int_equal(guest.client.fd, -1);
	}
	assert_int_equal(vfio_client_region(&guest.client, 9, &size, &flags), EINVAL);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(vfio_client_irq(&guest.client, i, &count), 0);
		assert_int_equal(count, vectors[i]);
	}
	assert_int_equal(vfio_client_irq(&guest.client, 3, &count), EINVAL);
	assert_int_equal(guest_read(&guest, NPU_REG_ID), NPU_ID_VALUE);
	assert_int_equal(guest_read(&guest, NPU_REG_CLUSTERS), 4);
	/* Not a word, not aligned, not the host's. */
	assert_int_equal(vfio_client_read(&guest.client, VC_BAR0, 0, &size, 8), 0);
	assert_int_equal(size, 0);
	assert_int_equal(guest_read(&guest, 2), 0);
	assert_int_equal(guest_read(&guest, NPU_REG_CORE_TIMECMP_LO), 0);
	guest_stop(&guest);
}

static void test_msi_only(void **state)
{
	static const char *const options[] = { "--msi-only", "--config", "lowpower-v3", NULL };
	uint32_t abi = NPU_MAILBOX_ABI_MAJOR << 16, flags, count;
	struct guest guest;
	uint64_t size;

	(void)state;
	guest_start(&guest, program, options);
	assert_int_equal(guest_read(&guest, NPU_REG_CLUSTERS), 1);
	assert_int_equal(vfio_client_region(&guest.client, VC_BAR4, &size, &flags), 0);
	assert_int_equal(size, 0);
	assert_int_equal(vfio_client_irq(&guest.client, VC_MSIX, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(vfio_client_eventfds(&guest.client, VC_MSIX, 0, 1, guest.eventfd), EINVAL);
	assert_int_equal(guest_config_read(&guest, 0x71, 1), 0);
	guest_boot(&guest, image);
	guest_exchange(&guest, NPU_MESSAGE_HELLO, &abi, 1);
	assert_true(guest_interrupts(&guest, 0, WAIT_MS) > 0);
	/* One message for all: the second cause comes by it. */
	guest_config_write(&guest, 0x52, 1, 2);
	guest_open(&guest);
	guest_interrupts(&guest, 0, 0);
	guest_write(&guest, NPU_REG_MAILBOX_TO_HOST_SEND, 0);
	*(uint64_t *)guest_pointer(&guest, guest.thresholds) = 0;
	guest_write(&guest, NPU_REG_WATCH_ARM, 0);
	assert_true(guest_interrupts(&guest, 0, WAIT_MS) > 0);
	assert_int_equal(guest_interrupts(&guest, 1, 0), 0);
	guest_stop(&guest);
}

static struct npu_packet_copy copy_packet(uint32_t task, uint64_t to, uint64_t from,
					  uint64_t record)
{
	return (struct npu_packet_copy){
		.header = NPU_PACKET_HEADER(NPU_PACKET_COPY, 0, 0),
		.task_id = task,
		.destination = to,
		.source = from,
		.record = record,
		.bytes = 6000,
		.signal_sem = NPU_SEM_NONE,
	};
}

/* A program that ends at once, a copy over a page's end, a time stamp, then a watched signal. */
static void test_work(void **state)
{
	struct guest guest;
	uint64_t data, code;
	struct npu_program_header *header;
	struct npu_insn *end;
	const struct npu_record *record;
	const struct npu_event *event;
	struct npu_packet_copy copy = copy_packet(8, DATA_VA + 0x3000, DATA_VA, DATA_VA + 0x5040);
	const struct npu_packet_exec exec = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_EXEC, 0, 0),
		.task_id = 7,
		.program = CODE_VA,
		.record = DATA_VA + 0x5000,
		.budget = 1000,
		.signal_sem = NPU_SEM_NONE,
		.wait_sem = { NPU_SEM_NONE, NPU_SEM_NONE },
	};
	const struct npu_packet_timestamp stamp = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_TIMESTAMP, 0, 0),
		.destination = DATA_VA + 0x5080,
	};
	const struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0),
		.sem = 3,
		.add = 5,
	};
	uint8_t *bytes;

	(void)state;
	guest_start(&guest, program, NULL);
	boot_and_open(&guest);
	data = guest_pages(&guest, 6);
	code = guest_pages(&guest, 1);
	guest_map(&guest, DATA_VA, data, 6, NPU_PROT_READ | NPU_PROT_WRITE);
	guest_map(&guest, CODE_VA, code, 1, NPU_PROT_READ | NPU_PROT_EXEC);
	header = guest_pointer(&guest, code);
	*header = (struct npu_program_header){
		.magic = NPU_PROGRAM_MAGIC,
		.version = NPU_PROGRAM_VERSION,
		.clusters = 1,
		.dma_channels = 1,
		.bytes = sizeof(*header) + sizeof(*end),
		.entry = { sizeof(*header) },
	};
	end = (struct npu_insn *)(header + 1);
	*end = (struct npu_insn){
		.opcode = NPU_OP_END,
		.dst = NPU_TD_NONE,
		.src = { NPU_TD_NONE, NPU_TD_NONE, NPU_TD_NONE },
	};
	bytes = guest_pointer(&guest, data);
	for (unsigned int i = 0; i < 6000; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);

	((uint64_t *)guest_pointer(&guest, guest.thresholds))[3] = 5;
	guest_write(&guest, NPU_REG_WATCH_ARM, 3);
	guest_push(&guest, &exec);
	guest_push(&guest, &copy);
	guest_push(&guest, &stamp);
	guest_push(&guest, &signal);
	guest_doorbell(&guest);
	assert_int_equal(guest_interrupts(&guest, 1, WAIT_MS), 1);

	/* The interrupt comes last of all. */
	event = guest_pointer(&guest, guest.events);
	assert_int_equal(event->header, 1 | NPU_EVENT_WATCH << 8);
	assert_int_equal(event->sem, 3);
	assert_int_equal(event->value, 5);
	assert_int_equal(((uint64_t *)guest_pointer(&guest, guest.semaphores))[3], 5);
	record = guest_pointer(&guest, data + 0x5000);
	assert_int_equal(record[0].status, NPU_STATUS_DONE);
	assert_int_equal(record[0].task_id, 7);
	assert_int_equal(record[1].status, NPU_STATUS_DONE);
	assert_int_equal(record[1].task_id, 8);
	assert_memory_equal(bytes + 0x3000, bytes, 6000);
	assert_true(*(uint64_t *)(bytes + 0x5080) >= record[1].end);
	assert_int_equal(bytes[0x3000 + 6000], 0);

	/* The same semaphore from the host's side, through the doorbell page. */
	assert_int_equal(vfio_client_write(&guest.client, VC_BAR2, NPU_DOORBELL_SIGNAL,
					   &(uint64_t){ 3ull << 48 | 2 }, 8), 0);
	guest_wait64(&guest, guest.semaphores + 3 * 8, 7);
	guest_stop(&guest);
}

/* Runs a copy that must fail on the bus, and looks at what is told of it. */
static void expect_bus_error(struct guest *guest, const struct npu_packet_copy *copy,
			     uint64_t record_address, unsigned int number, uint64_t va)
{
	const struct npu_record *record = guest_pointer(guest, record_address);
	const struct npu_fault *fault = guest_pointer(guest, guest->faults);

	guest_push(guest, copy);
	guest_doorbell(guest);
	assert_true(guest_interrupts(guest, 2, WAIT_MS) > 0);
	fault += number;
	assert_int_equal(fault->header >> 8 & 0xff, NPU_ERROR_BUS);
	assert_int_equal(fault->task_id, copy->task_id);
	assert_int_equal(fault->address, va);
	guest_write(guest, NPU_REG_FAULT_CONSUMER, number + 1);
	guest_wait64(guest, guest->ring + offsetof(struct npu_ring_control, read_index),
		     guest->write_index);
	assert_int_equal(record->status, NPU_STATUS_FAULT);
	assert_int_equal(record->error, NPU_ERROR_BUS);
}

static void test_bad_memory(void **state)
{
	struct npu_packet_copy copy;
	struct guest guest;
	uint64_t data;
	uint8_t *other;
	int fd;

	(void)state;
	guest_start(&guest, program, NULL);
	boot_and_open(&guest);
	data = guest_pages(&guest, 6);
	guest_map(&guest, DATA_VA, data, 6, NPU_PROT_READ | NPU_PROT_WRITE);
	fd = memfd_create("other", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 8192), 0);
	other = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(other, MAP_FAILED);
	memset(other, 0x5a, 8192);

	/* Read only: the guest's tables allow what the bus does not. */
	assert_int_equal(vfio_client_map(&guest.client, GONE_DMA, 8192, fd, 0, 1), 0);
	guest_map(&guest, RO_VA, GONE_DMA, 2, NPU_PROT_READ | NPU_PROT_WRITE);
	copy = copy_packet(1, DATA_VA + 0x2000, RO_VA, DATA_VA + 0x5000);
	guest_push(&guest, &copy);
	guest_doorbell(&guest);
	guest_wait64(&guest, guest.ring + offsetof(struct npu_ring_control, read_index), 1);
	assert_memory_equal(guest_pointer(&guest, data + 0x2000), other, 6000);
	copy = copy_packet(2, RO_VA, DATA_VA, DATA_VA + 0x5040);
	expect_bus_error(&guest, &copy, data + 0x5040, 0, RO_VA);
	assert_int_equal(other[0], 0x5a);

	/* Gone: the device has read there before, and must not remember it. */
	assert_int_equal(vfio_client_unmap(&guest.client, GONE_DMA, 4096), 0);
	copy = copy_packet(3, DATA_VA + 0x2000, RO_VA, DATA_VA + 0x5080);
	expect_bus_error(&guest, &copy, data + 0x5080, 1, RO_VA);
	munmap(other, 8192);
	close(fd);
	guest_stop(&guest);
}

/*
 * A card that keeps translations it was told to drop: without an IOMMU it reaches memory that is not
 * its business any more; where an IOMMU has unmapped that memory, it gets an error.
 */
static void test_stale_tlb(void **state)
{
	static const char *const options[] = { "--defect", "stale-tlb", NULL };
	struct npu_packet_copy copy = copy_packet(1, RO_VA, DATA_VA, DATA_VA + 0x5000);
	struct guest guest;
	uint64_t data;
	uint8_t *other;
	int fd;

	(void)state;
	guest_start(&guest, program, options);
	boot_and_open(&guest);
	data = guest_pages(&guest, 6);
	guest_map(&guest, DATA_VA, data, 6, NPU_PROT_READ | NPU_PROT_WRITE);
	fd = memfd_create("other", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 8192), 0);
	other = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(other, MAP_FAILED);
	assert_int_equal(vfio_client_map(&guest.client, GONE_DMA, 8192, fd, 0, 3), 0);
	guest_map(&guest, RO_VA, GONE_DMA, 2, NPU_PROT_READ | NPU_PROT_WRITE);
	guest_push(&guest, &copy);
	guest_doorbell(&guest);
	guest_wait64(&guest, guest.ring + offsetof(struct npu_ring_control, read_index), 1);

	/* Taken out of the context as a driver does it. */
	memset(other, 0x5a, 8192);
	assert_int_equal(npu_pgtable_unmap(&guest.pagetable, RO_VA, 8192), 0);
	guest_write(&guest, NPU_REG_TLB_INVALIDATE, 2);
	assert_int_equal(guest_read(&guest, NPU_REG_TLB_DONE), 1);
	memset(guest_pointer(&guest, data), 0x77, 6000);
	guest_push(&guest, &copy);
	guest_doorbell(&guest);
	guest_wait64(&guest, guest.ring + offsetof(struct npu_ring_control, read_index), 2);
	assert_int_equal(other[0], 0x77);

	memset(other, 0x5a, 8192);
	assert_int_equal(vfio_client_unmap(&guest.client, GONE_DMA, 8192), 0);
	copy.record = DATA_VA + 0x5040;
	expect_bus_error(&guest, &copy, data + 0x5040, 0, RO_VA);
	assert_int_equal(other[0], 0x5a);
	munmap(other, 8192);
	close(fd);
	guest_stop(&guest);
}

/*
 * The file behind memory is cut off while the device knows pointers into it: the device reads
 * zeros, and goes on.
 */
static void test_shrunk_memory(void **state)
{
	struct npu_packet_copy copy;
	struct guest guest;
	uint64_t data;
	uint8_t *target;
	int fd;

	(void)state;
	guest_start(&guest, program, NULL);
	boot_and_open(&guest);
	data = guest_pages(&guest, 6);
	guest_map(&guest, DATA_VA, data, 6, NPU_PROT_READ | NPU_PROT_WRITE);
	target = guest_pointer(&guest, data + 0x2000);
	fd = memfd_create("other", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(vfio_client_map(&guest.client, GONE_DMA, 8192, fd, 0, 3), 0);
	guest_map(&guest, RO_VA, GONE_DMA, 2, NPU_PROT_READ | NPU_PROT_WRITE);
	for (uint64_t i = 1; i <= 2; i++) {
		memset(target, 0xa5, 8192);
		copy = copy_packet((uint32_t)i, DATA_VA + 0x2000, RO_VA, DATA_VA + 0x5000);
		guest_push(&guest, &copy);
		guest_doorbell(&guest);
		guest_wait64(&guest, guest.ring + offsetof(struct npu_ring_control, read_index), i);
		assert_int_equal(target[0], 0);
		assert_int_equal(target[5999], 0);
		assert_int_equal(target[6000], 0xa5);
		assert_int_equal(ftruncate(fd, 0), 0);
	}
	close(fd);
	guest_stop(&guest);
}

static void test_bus_master(void **state)
{
	struct guest guest;
	uint32_t abi = NPU_MAILBOX_ABI_MAJOR << 16;

	(void)state;
	guest_start(&guest, program, NULL);
	guest_boot(&guest, image);
	guest_interrupts(&guest, 0, 0);
	guest_config_write(&guest, 0x04, 0x2, 2);
	guest_exchange(&guest, NPU_MESSAGE_HELLO, &abi, 1);
	assert_int_equal(guest_interrupts(&guest, 0, 20), 0);
	/* Held back, shown as pending, and sent at last. */
	assert_int_equal(vfio_client_read(&guest.client, VC_BAR4, 0x1000, &abi, 4), 0);
	assert_int_equal(abi, 1);
	guest_config_write(&guest, 0x04, 0x6, 2);
	assert_int_equal(guest_interrupts(&guest, 0, WAIT_MS), 1);
	/* Without it no firmware can be read. */
	guest_write(&guest, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
	guest_config_write(&guest, 0x04, 0x2, 2);
	guest_write(&guest, NPU_REG_BOOT_ADDRESS_HI, (uint32_t)(GUEST_HIGH >> 32));
	guest_write(&guest, NPU_REG_BOOT_SIZE, 4096);
	guest_write(&guest, NPU_REG_BOOT_CONTROL, NPU_BOOT_START);
	assert_int_equal(guest_read(&guest, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_UNREADABLE);
	guest_stop(&guest);
}

static void test_masks(void **state)
{
	struct guest guest;
	uint32_t word;

	(void)state;
	guest_start(&guest, program, NULL);
	guest_boot(&guest, image);
	guest_interrupts(&guest, 0, 0);
	/* A vector masked in the table. */
	word = 1;
	assert_int_equal(vfio_client_write(&guest.client, VC_BAR4, 12, &word, 4), 0);
	guest_exchange(&guest, NPU_MESSAGE_PING, NULL, 0);
	assert_int_equal(guest_interrupts(&guest, 0, 20), 0);
	word = 0;
	assert_int_equal(vfio_client_write(&guest.client, VC_BAR4, 12, &word, 4), 0);
	assert_int_equal(guest_interrupts(&guest, 0, WAIT_MS), 1);
	/* The whole function masked. */
	guest_config_write(&guest, 0xb2, 0xc000, 2);
	guest_exchange(&guest, NPU_MESSAGE_PING, NULL, 0);
	assert_int_equal(guest_interrupts(&guest, 0, 20), 0);
	guest_config_write(&guest, 0xb2, 0x8000, 2);
	assert_int_equal(guest_interrupts(&guest, 0, WAIT_MS), 1);
	/* Its eventfd taken away, as QEMU masks, and given back. */
	assert_int_equal(vfio_client_eventfds(&guest.client, VC_MSIX, 0, 1, NULL), 0);
	guest_exchange(&guest, NPU_MESSAGE_PING, NULL, 0);
	assert_int_equal(guest_interrupts(&guest, 0, 20), 0);
	assert_int_equal(vfio_client_eventfds(&guest.client, VC_MSIX, 0, 1, guest.eventfd), 0);
	assert_int_equal(guest_interrupts(&guest, 0, WAIT_MS), 1);
	guest_stop(&guest);
}

static void check_reset(struct guest *guest)
{
	assert_int_equal(guest_read(guest, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RESET);
	assert_int_equal(guest_read(guest, NPU_REG_FW_STATE), NPU_FW_STATE_RESET);
	assert_int_equal(guest_read(guest, NPU_REG_IRQ_ENABLE), 0);
	assert_int_equal(guest_config_read(guest, 0x04, 2), 0);
	assert_int_equal(guest_config_read(guest, 0xb2, 2), 3);
	for (unsigned int i = 0; i < NPU_IRQ_COUNT; i++)
		guest_interrupts(guest, i, 0);
	guest_write(guest, NPU_REG_IRQ_ENABLE, 1);
	assert_int_equal(guest_interrupts(guest, 0, 20), 0);
}

static void test_resets(void **state)
{
	struct guest guest;

	(void)state;
	guest_start(&guest, program, NULL);
	boot_and_open(&guest);
	assert_int_equal(vfio_client_reset(&guest.client), 0);
	check_reset(&guest);
	/* Memory and eventfds are the client's: it boots again with what it gave before. */
	guest_config_write(&guest, 0x04, 0x6, 2);
	guest_config_write(&guest, 0xb2, 0x8000, 2);
	guest.used = 0;
	memset(guest.memory, 0, GUEST_BYTES);
	npu_pgtable_fini(&guest.pagetable);
	boot_and_open(&guest);
	/* Function level reset; the bit reads 0. */
	guest_config_write(&guest, 0x78, 0x8000 | guest_config_read(&guest, 0x78, 2), 2);
	assert_int_equal(guest_config_read(&guest, 0x78, 2) & 0x8000, 0);
	check_reset(&guest);
	guest_stop(&guest);
}

static void test_next_client(void **state)
{
	struct guest guest;

	(void)state;
	guest_start(&guest, program, NULL);
	boot_and_open(&guest);
	vfio_client_close(&guest.client);
	npu_pgtable_fini(&guest.pagetable);
	guest.used = 0;
	memset(guest.memory, 0, GUEST_BYTES);
	guest_connect(&guest);
	assert_int_equal(guest_read(&guest, NPU_REG_BOOT_STATUS), NPU_BOOT_STATUS_RESET);
	guest_attach_irqs(&guest, false);
	boot_and_open(&guest);
	guest_stop(&guest);
}

static void test_mapped_doorbells(void **state)
{
	static const char *const options[] = { "--doorbells", "mapped", NULL };
	const struct npu_packet_signal signal = {
		.header = NPU_PACKET_HEADER(NPU_PACKET_SIGNAL, 0, 0),
		.add = 1,
	};
	struct guest guest;
	uint64_t *page;
	uint64_t size;
	uint32_t flags;

	(void)state;
	guest_start(&guest, program, options);
	assert_int_equal(vfio_client_region(&guest.client, VC_BAR2, &size, &flags), 0);
	assert_int_equal(flags, 7);
	assert_true(guest.client.fd >= 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, guest.client.fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	boot_and_open(&guest);
	for (uint64_t i = 1; i <= 40; i++) {
		guest_push(&guest, &signal);
		__atomic_store_n(page, guest.write_index, __ATOMIC_SEQ_CST);
		guest_wait64(&guest, guest.semaphores, i);
	}
	__atomic_store_n(page + 1, 2, __ATOMIC_SEQ_CST);
	guest_wait64(&guest, guest.semaphores, 42);
	munmap(page, 4096);
	guest_stop(&guest);
}

/* An invalidation that is swallowed; a next client finds the script at its beginning. */
static void test_fault(void **state)
{
	static const char *const options[] = {
		"--config", "npu-v3?clusters=2", "--fault", "tlb-hang#2", NULL,
	};
	struct guest guest;

	(void)state;
	guest_start(&guest, program, options);
	for (unsigned int client = 0; client < 2; client++) {
		assert_int_equal(guest_read(&guest, NPU_REG_CLUSTERS), 2);
		for (unsigned int i = 0; i < 3; i++)
			guest_write(&guest, NPU_REG_TLB_INVALIDATE, 1);
		assert_int_equal(guest_read(&guest, NPU_REG_TLB_DONE), 1);
		guest_write(&guest, NPU_REG_BOOT_CONTROL, NPU_BOOT_RESET);
		guest_write(&guest, NPU_REG_TLB_INVALIDATE, 1);
		assert_int_equal(guest_read(&guest, NPU_REG_TLB_DONE), 1);
		if (client)
			break;
		vfio_client_close(&guest.client);
		guest_connect(&guest);
	}
	guest_stop(&guest);
}

/* The exit status; what stands on standard error has the words, which a script that is taken would not. */
static int refused(const char *script, const char *words)
{
	char command[256], said[1024] = "";
	FILE *output;
	int status;

	snprintf(command, sizeof(command), "'%s' --socket /nowhere/x --fault '%s' 2>&1", program,
		 script);
	output = popen(command, "r");
	assert_non_null(output);
	said[fread(said, 1, sizeof(said) - 1, output)] = '\0';
	status = pclose(output);
	assert_true(WIFEXITED(status));
	if (!strstr(said, words))
		fail_msg("--fault '%s': '%s' does not say '%s'", script, said, words);
	return WEXITSTATUS(status);
}

static void test_bad_faults(void **state)
{
	(void)state;
	assert_int_equal(refused("", "--fault"), 2);
	assert_int_equal(refused("hang&clusters=1", "--fault"), 2);
	assert_int_equal(refused("hangs", "no kind"), 1);
	assert_int_equal(refused("hang#0", "fault"), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_configuration),
		cmocka_unit_test(test_regions),
		cmocka_unit_test(test_msi_only),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_bad_memory),
		cmocka_unit_test(test_stale_tlb),
		cmocka_unit_test(test_shrunk_memory),
		cmocka_unit_test(test_bus_master),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_resets),
		cmocka_unit_test(test_next_client),
		cmocka_unit_test(test_mapped_doorbells),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_bad_faults),
	};

	if (argc != 3)
		return 1;
	program = argv[1];
	image = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
