/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The core dump that the driver makes of a device that failed, /sys/class/devcoredump/devcd<n>/data.
 * Authority: Documentation/driver/coredump.rst.
 *
 * Little endian throughout: a header, then sections, each of which says what it is, and how large.
 * A reader passes over sections of unknown kinds, over what a header or an entry has beyond what it
 * knows, and takes what an entry lacks for zero; of another major version it reads nothing.
 */
#ifndef NPU_COREDUMP_H
#define NPU_COREDUMP_H

#include <linux/types.h>

#include "npu_packet.h"

#define NPU_COREDUMP_MAGIC		"NPUCORE\n"	/* eight bytes, without a NUL */
#define NPU_COREDUMP_MAJOR		1
#define NPU_COREDUMP_MINOR		1
#define NPU_COREDUMP_BYTES_MAX		(4u << 20)
#define NPU_COREDUMP_ALIGN		8	/* of sections */

struct npu_coredump_header {
	__u8 magic[8];
	__le16 major;
	__le16 minor;
	__le32 header_bytes;	/* of this; the first section follows */
	__le64 bytes;		/* of the dump */
	__le32 flags;		/* NPU_COREDUMP_* */
	__le32 reserved;
};

#define NPU_COREDUMP_CUT	(1u << 0)	/* there was more than there was room for */

enum npu_coredump_kind {
	NPU_COREDUMP_CAUSE = 1,		/* struct npu_coredump_cause, one */
	NPU_COREDUMP_SYSTEM = 2,	/* struct npu_coredump_system, one */
	NPU_COREDUMP_REGISTERS = 3,	/* struct npu_coredump_register */
	NPU_COREDUMP_CONTEXTS = 4,	/* struct npu_coredump_context */
	NPU_COREDUMP_QUEUES = 5,	/* struct npu_coredump_queue */
	NPU_COREDUMP_PACKETS = 6,	/* 64 bytes each, of the queue that @index names */
	NPU_COREDUMP_SEMAPHORES = 7,	/* struct npu_coredump_semaphore */
	NPU_COREDUMP_FAULTS = 8,	/* struct npu_fault, the oldest first */
	NPU_COREDUMP_EVENTS = 9,	/* struct npu_event, the oldest first */
	NPU_COREDUMP_LOG = 10,		/* text: what the driver last read of the firmware's log */
};

/* Followed by its entries, and zeros up to the next multiple of NPU_COREDUMP_ALIGN. */
struct npu_coredump_section {
	__le32 kind;		/* enum npu_coredump_kind */
	__le32 index;
	__le32 entry_bytes;
	__le32 entries;
};

enum npu_coredump_outcome {
	NPU_COREDUMP_RESET = 1,	/* it answered, and was to be started again */
	NPU_COREDUMP_DEAD = 2,	/* it was given up */
};

/* What a device was stopped for. */
enum npu_failure {
	NPU_FAILURE_NONE = 0,
	NPU_FAILURE_REQUEST = 1,	/* root, or devlink, asked for a reset */
	NPU_FAILURE_BUS_RESET = 2,	/* its bus resets it */
	NPU_FAILURE_BUS_ERROR = 3,	/* its bus reports an error */
	NPU_FAILURE_BUS_LOST = 4,	/* its bus has lost it */
	NPU_FAILURE_HEAT = 5,		/* it tripped: NPU_ERROR_STATUS_TEMPERATURE */
	NPU_FAILURE_PANIC = 6,		/* the firmware's last message: NPU_MESSAGE_PANIC */
	NPU_FAILURE_CORE = 7,		/* the control core died without one */
	NPU_FAILURE_SILENCE = 8,	/* the firmware does not answer a message */
	NPU_FAILURE_INVALIDATION = 9,	/* a TLB invalidation does not complete */
	NPU_FAILURE_CONTEXT_END = 10,	/* the firmware does not end a context */
	NPU_FAILURE_QUEUE_END = 11,	/* the firmware does not end a queue */
	NPU_FAILURE_NO_ANSWER = 12,	/* its registers are not there */
	NPU_FAILURE_RESTART = 13,	/* it does not start again after a reset */
	NPU_FAILURE_RESUME = 14,	/* it does not come back from a suspend */
	NPU_FAILURE_WAKE = 15,		/* it does not wake up for a reset */
	NPU_FAILURE_PAGE_TABLES = 16,	/* page tables and mappings differ: a fault of the driver */
};

struct npu_coredump_cause {
	__le64 time_ns;		/* since 1970, when the driver found out */
	__le64 uptime_ns;	/* since the system started */
	__le32 outcome;		/* enum npu_coredump_outcome */
	__le32 answers;		/* 0: registers were not read, and are told as all ones */
	__le32 resets;		/* of the device before this one */
	__le32 failure;		/* enum npu_failure; 0 in a dump of version 1.0 */
	__u8 reason[128];	/* a sentence, NUL padded */
};

/* Text is NUL padded, and not ended where it fills its field. */
struct npu_coredump_system {
	__u8 device[64];	/* its name on its bus */
	__u8 kernel[64];
	__u8 firmware[32];	/* version */
	__u8 config[16];	/* NPU_REG_CONFIG_NAME */
	__le32 driver;		/* major << 16 | minor */
	__le32 hardware;	/* NPU_REG_HW_VERSION */
	__le32 firmware_abi;	/* major << 16 | minor */
	__le32 driver_abi;	/* the mailbox's that the driver was made for */
	__le32 page_bytes;	/* the processor's */
	__le32 reserved;
};

struct npu_coredump_register {
	__le32 offset;		/* NPU_REG_* */
	__le32 value;
};

struct npu_coredump_context {
	__le32 index;		/* its number on the device */
	__le32 id;		/* its number in its file */
	__le32 pid;		/* who opened the file, and his user */
	__le32 uid;
	__u8 comm[16];		/* NUL padded */
	__le32 state;		/* enum drm_npu_ctx_state */
	__le32 flags;		/* NPU_COREDUMP_CONTEXT_* */
	__le32 stop_error;	/* enum npu_error of its first queue that stopped, */
	__le32 stop_queue;	/* and that one's number in the context */
	__le32 faults;		/* so far; 0: @fault is none */
	__le32 reserved;
	struct npu_fault fault;	/* the newest */
	struct npu_context_counters counters;
};

#define NPU_COREDUMP_CONTEXT_ENDING	(1u << 0)	/* its program was ending it already */

struct npu_coredump_queue {
	__le32 queue;		/* its number on the device */
	__le32 context;		/* of its context */
	__le32 id;		/* its number in the context */
	__le32 priority;
	__le32 ring_log2;
	__le32 error;		/* enum npu_error that stopped it */
	__le64 ring;		/* its address in the context */
	__le64 place;		/* index of the packet it began with */
	__le64 first;		/* index of the first of @packets */
	__le32 packets;		/* in the section of PACKETS with the index @queue */
	__le32 flags;		/* NPU_COREDUMP_QUEUE_* */
	struct npu_ring_control control;	/* as the ring has it, which its program writes */
};

#define NPU_COREDUMP_QUEUE_READ		(1u << 0)	/* the ring could be read; else @control is zero */

/* One that has a value, or was waited for. */
struct npu_coredump_semaphore {
	__le32 context;
	__le32 sem;
	__le64 value;
	__le64 wanted;		/* a greater value that was waited for last; 0: none was */
};

#endif /* NPU_COREDUMP_H */
