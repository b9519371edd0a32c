/* SPDX-License-Identifier: MIT */
/*
 * Registers, mailbox, interrupts, fault queue and event ring. Manual: registers.rst.
 */
#ifndef NPU_MODEL_REGISTERS_H
#define NPU_MODEL_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "host_ring.h"
#include "npu/npu_packet.h"
#include "npu/npu_regs.h"

struct npu_model;

#define NPU_MAILBOX_WORDS	16

struct npu_registers {
	uint32_t irq_status, irq_enable;
	uint32_t boot_address[2], boot_size, boot_status;
	uint32_t fw_alive, fw_state;
	uint32_t to_fw[NPU_MAILBOX_WORDS], to_host[NPU_MAILBOX_WORDS];
	uint32_t to_fw_send, to_host_send;
	uint32_t context_table[2];
	uint32_t tlb_address[2], tlb_bytes[2], tlb_done;
	uint32_t event_base[2], fault_base[2];
	struct npu_host_ring events, faults;
	uint32_t error_status, error_cluster, error_address;
	uint64_t queue_errors;		/* NPU_EVENT_QUEUE_ERROR still to be written */
	uint32_t host_latch, core_latch;	/* high word of the counter read last, by reader */

	/* control core only */
	uint32_t core_irq_pending, core_irq_enable;
	uint32_t core_log, core_panic;
	uint32_t core_watchdog[2];
	uint32_t timecmp[2];
};

/* A fault, for the fault queue. */
struct npu_fault_record {
	uint32_t error;			/* enum npu_error */
	unsigned int context, queue;
	uint32_t task_id;
	uint64_t address;
	uint32_t access;
	uint32_t cluster;		/* 0xff: command processor */
	uint32_t program_offset;
	uint32_t instruction;		/* its first four bytes; 0: unknown */
};

#define NPU_FAULT_COMMAND_PROCESSOR	0xffu

/** npu_registers_reset() - values after reset */
void npu_registers_reset(struct npu_model *model);

/** npu_registers_fault() - record a fault, interrupt the host; counted when there is no room */
void npu_registers_fault(struct npu_model *model, const struct npu_fault_record *fault);

/** npu_registers_event() - append an event, interrupt the host; false when there is no room */
bool npu_registers_event(struct npu_model *model, enum npu_event_kind kind, unsigned int context,
			 uint32_t number, uint64_t value);

/** npu_registers_queue_error() - NPU_EVENT_QUEUE_ERROR, now or as soon as there is room */
void npu_registers_queue_error(struct npu_model *model, unsigned int queue);

/** npu_registers_raise() - raise interrupts to the host */
void npu_registers_raise(struct npu_model *model, uint32_t bits);

/** npu_registers_memory_error() - a bit error in a cluster's local SRAM: count it, note where */
void npu_registers_memory_error(struct npu_model *model, bool corrected, unsigned int cluster,
				uint32_t offset);

/** npu_registers_trip() - too hot: nothing runs any more, the host is told */
void npu_registers_trip(struct npu_model *model);

/** npu_registers_core_irq() - latch causes of the control core's interrupt */
void npu_registers_core_irq(struct npu_model *model, uint32_t bits);

#endif /* NPU_MODEL_REGISTERS_H */
