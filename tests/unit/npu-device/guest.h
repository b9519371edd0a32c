/* SPDX-License-Identifier: MIT */
/*
 * A guest without a kernel: memory, and what a driver does to get the card to work on it. Every
 * step that fails fails the test.
 */
#ifndef TEST_GUEST_H
#define TEST_GUEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "npu/npu_mailbox.h"
#include "npu/npu_packet.h"
#include "npu/npu_regs.h"
#include "npu_pgtable.h"
#include "vfio_user_client.h"

#define GUEST_BYTES	(8u << 20)
/* Two pieces, apart, as a PC's memory is; both from one file. */
#define GUEST_LOW	0x40000000ull
#define GUEST_HIGH	0x100000000ull
#define GUEST_LOW_BYTES	(4u << 20)

#define GUEST_RING_LOG2	4
#define GUEST_EVENTS_LOG2 4

struct guest {
	struct vfio_server server;
	struct vfio_client client;
	int memory_fd;
	uint8_t *memory;
	uint64_t used;		/* bytes of memory given out */
	int eventfd[NPU_IRQ_COUNT];
	struct npu_pgtable pagetable;
	uint64_t context_table, events, faults, semaphores, thresholds;
	uint64_t ring;
	uint64_t write_index;
	uint16_t sequence;
};

/* Server and client, memory mapped, bus master on, MSI-X (or with --msi-only MSI) to eventfds. */
void guest_start(struct guest *guest, const char *program, const char *const *options);
/* Ends both; the server must end well. */
void guest_stop(struct guest *guest);

/* The same in parts, for a client that comes back. */
void guest_connect(struct guest *guest);
void guest_attach_irqs(struct guest *guest, bool msi);

/* Zeroed pages; returns the DMA address. */
uint64_t guest_pages(struct guest *guest, unsigned int count);
void *guest_pointer(struct guest *guest, uint64_t address);

uint32_t guest_read(struct guest *guest, uint32_t offset);
void guest_write(struct guest *guest, uint32_t offset, uint32_t value);
uint32_t guest_config_read(struct guest *guest, uint32_t offset, uint32_t count);
void guest_config_write(struct guest *guest, uint32_t offset, uint32_t value, uint32_t count);

/* Firmware at @path; READY when it returns. */
void guest_boot(struct guest *guest, const char *path);
struct npu_message guest_exchange(struct guest *guest, uint16_t kind, const uint32_t *arguments,
				  unsigned int count);

/* Context 0 with page tables, fault queue and event ring; queue 0 with a ring. */
void guest_open(struct guest *guest);

/* @pages at DMA @address into context 0 at @va. */
void guest_map(struct guest *guest, uint64_t va, uint64_t address, unsigned int pages,
	       unsigned int prot);

void guest_push(struct guest *guest, const void *packet);
void guest_doorbell(struct guest *guest);

/* Interrupts of a vector since last asked; waits up to @ms for the first. */
uint64_t guest_interrupts(struct guest *guest, unsigned int vector, int ms);

/* Until the 64-bit word in guest memory is @value. */
void guest_wait64(struct guest *guest, uint64_t address, uint64_t value);

#endif
