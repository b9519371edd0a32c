/* SPDX-License-Identifier: MIT */
/*
 * A model with host memory, page tables, contexts and queues around it, for tests that play the
 * driver and the control core's firmware.
 */
#ifndef TEST_BOARD_H
#define TEST_BOARD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "machine.h"
#include "npu/npu_isa.h"
#include "npu/npu_packet.h"
#include "npu/npu_regs.h"

#define BOARD_MEMORY_BASE	0x80000000ull
#define BOARD_MEMORY_BYTES	(64u << 20)

/* Kernel-owned memory, DMA addresses */
#define BOARD_CONTEXT_TABLE	(BOARD_MEMORY_BASE + 0x0000)
#define BOARD_EVENTS		(BOARD_MEMORY_BASE + 0x1000)
#define BOARD_EVENTS_LOG2	6
#define BOARD_FAULTS		(BOARD_MEMORY_BASE + 0x2000)
#define BOARD_FAULTS_LOG2	5
#define BOARD_COUNTERS(context) (BOARD_MEMORY_BASE + 0x3000 + (context) * 64ull)
#define BOARD_AREA(context)	(BOARD_MEMORY_BASE + 0x10000 + (context) * 0x1000ull)
#define BOARD_THRESHOLDS(context) (BOARD_MEMORY_BASE + 0x50000 + (context) * 0x1000ull)

/* Page-table entry flags */
#define PTE_V	0x01u
#define PTE_R	0x02u
#define PTE_W	0x04u
#define PTE_X	0x08u
#define PTE_U	0x10u
#define PTE_A	0x40u
#define PTE_D	0x80u
#define PTE_ALL	(PTE_V | PTE_R | PTE_W | PTE_X | PTE_U | PTE_A | PTE_D)

/* What board_add_context() maps: 4 KiB leaves, everything allowed */
#define BOARD_VA		0x2000000000ull
#define BOARD_CONTEXT_BYTES	(8u << 20)

struct board {
	struct npu_model *model;
	uint8_t *memory;
	uint64_t free_table;		/* DMA address of the next page table */
	uint64_t free_page;		/* ... and of the next page of data */
	uint64_t root[NPU_CONTEXTS_MAX];
	uint64_t va;			/* first address of the contexts' memory */
	uint64_t data[NPU_CONTEXTS_MAX];	/* DMA address behind it */
	uint64_t write_index[NPU_QUEUES_MAX];
	uint64_t ring[NPU_QUEUES_MAX];
	unsigned int ring_log2[NPU_QUEUES_MAX];
	unsigned int queue_context[NPU_QUEUES_MAX];
	uint64_t hole;			/* a DMA page that does not answer; 0: none */
	uint32_t irqs;			/* vectors raised since last looked at */
	unsigned int irq_count[NPU_IRQ_COUNT];
	uint32_t faults_read, events_read;
};

/* The board as the host of a model. */
extern const struct npu_model_host_ops board_host_ops;

struct board *board_create(const char *config);
void board_destroy(struct board *board);

/* What the driver writes after a reset; fault queue and event ring are empty again. */
void board_restart(struct board *board);

/* Host pointer of a DMA address. */
void *board_dma(struct board *board, uint64_t address);

/* Pages of zeroed data; returns the DMA address. */
uint64_t board_pages(struct board *board, unsigned int count);

/* Map one leaf of @level (0, 1, 2) at @va to @address with @flags; tables are made as needed. */
void board_map(struct board *board, unsigned int context, uint64_t va, uint64_t address,
	       unsigned int level, uint64_t flags);

/* The entry that maps @va at @level, for tests that damage it. */
uint64_t *board_entry(struct board *board, unsigned int context, uint64_t va, unsigned int level);

/* A context with BOARD_CONTEXT_BYTES mapped at board->va. */
void board_add_context(struct board *board, unsigned int context);
void board_update_context(struct board *board, unsigned int context, bool valid);

/* Host pointer of offset @offset in a context's memory, and its VA. */
void *board_at(struct board *board, unsigned int context, uint64_t offset);
uint64_t board_va(const struct board *board, uint64_t offset);

/* Configure a queue whose ring is at @offset of the context's memory. */
void board_add_queue(struct board *board, unsigned int queue, unsigned int context,
		     uint64_t offset, unsigned int log2);
void board_attach(struct board *board, unsigned int slot, unsigned int queue);
void board_grant(struct board *board, unsigned int slot, uint32_t mask, uint32_t window,
		 uint32_t bytes);

struct npu_ring_control *board_ring(struct board *board, unsigned int queue);

/* Publish a packet (without phase bit in its header); no doorbell. */
void board_push(struct board *board, unsigned int queue, const void *packet);
void board_ring_doorbell(struct board *board, unsigned int queue);

/* Run until idle; fails the test when that takes more than @cycles. */
void board_run(struct board *board, uint64_t cycles);

void board_control(struct board *board, unsigned int slot, uint32_t value);
uint32_t board_state(struct board *board, unsigned int slot);	/* NPU_SLOT_STATE_* */
uint32_t board_slot(struct board *board, unsigned int slot, uint32_t offset);
uint64_t board_semaphore(struct board *board, unsigned int context, unsigned int semaphore);

/* The next entry of fault queue or event ring, or NULL. */
const struct npu_fault *board_fault(struct board *board);
const struct npu_event *board_event(struct board *board);

/* ------------------------------------------------------------------- programs */

/* A program being written into a context's memory. */
struct program {
	struct board *board;
	unsigned int context;
	uint64_t base;			/* offset in the context's memory */
	uint32_t size;			/* so far */
	struct npu_program_header *header;
};

struct program program_begin(struct board *board, unsigned int context, uint64_t offset,
			     unsigned int clusters);
/* What follows is stream @cluster. */
void program_stream(struct program *program, unsigned int cluster);
void program_emit(struct program *program, struct npu_insn insn);
void program_descriptor(struct program *program, unsigned int reg, const void *td);
void program_finish(struct program *program);

/* Tests use descriptor registers from 1 up: an operand of 0 is emitted as NPU_TD_NONE. */
#define INSN(...)	((struct npu_insn){ __VA_ARGS__ })

/* A dense tensor [d0][d1][d2][d3]. */
struct npu_td dense(unsigned int space, unsigned int argument, int64_t address, unsigned int dtype,
		    uint32_t d0, uint32_t d1, uint32_t d2, uint32_t d3);

/* An EXEC packet of a program: no waits, no signal, record at @record (offset, 0: none). */
struct npu_packet_exec exec_packet(const struct program *program, uint32_t task_id,
				   uint64_t arguments, unsigned int count, uint64_t record);

/* Queue 0 of context 0, attached to slot 0 with everything granted; ring at offset 0x1000. */
void board_simple(struct board *board);

/* Run one program on such a board; returns its record, checked to be there. */
const struct npu_record *board_execute(struct board *board, const struct program *program,
				       const uint64_t *arguments, unsigned int count);

#endif /* TEST_BOARD_H */
