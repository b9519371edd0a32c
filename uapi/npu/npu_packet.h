/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Rings, packets, completion records, semaphores: what user space and the device
 * exchange in shared memory. Authority: Documentation/hardware/queues.rst.
 * Little endian throughout; reserved fields must be zero.
 */
#ifndef NPU_PACKET_H
#define NPU_PACKET_H

#include <linux/types.h>

/*
 * A ring lives in context memory: one control block, then 2^n packets.
 * Index i (64 bit, never wraps) is in slot i mod size; its phase bit is
 * ((i / size) & 1) ^ 1, so zeroed memory holds no valid packet.
 */
#define NPU_PACKET_BYTES	64
#define NPU_RING_LOG2_MIN	2
#define NPU_RING_LOG2_MAX	16

struct npu_ring_control {
	/* What producers look at each time: the device changes it when it goes to sleep and wakes. */
	__le64 write_index;	/* producers: reserved so far (compare and swap) */
	__le32 sleeping;	/* device: 1 = a doorbell is needed to be seen */
	__u8 reserved0[52];
	/* What the device changes with every packet. */
	__le64 read_index;	/* packets finished with (their memory may be reused) */
	__le32 reserved1;
	__le32 error;		/* enum npu_error that stopped the queue, 0 */
	__le64 error_index;	/* of the packet that stopped it */
	__u8 reserved2[40];
};

#define NPU_RING_PACKETS_OFFSET	128	/* sizeof(struct npu_ring_control) */

/* Packet header: published last, by a store-release. */
#define NPU_PACKET_OPCODE_MASK	0xffu
#define NPU_PACKET_PHASE	(1u << 8)
#define NPU_PACKET_FLAGS_SHIFT	16
#define NPU_PACKET_RESERVED	0xfe00u
#define NPU_PACKET_HEADER(opcode, flags, phase) \
	((__u32)(opcode) | ((__u32)(flags) << NPU_PACKET_FLAGS_SHIFT) | ((phase) ? NPU_PACKET_PHASE : 0))

enum npu_packet_opcode {
	NPU_PACKET_INVALID = 0,
	NPU_PACKET_NOP = 1,
	NPU_PACKET_EXEC = 2,
	NPU_PACKET_WAIT = 3,
	NPU_PACKET_SIGNAL = 4,
	NPU_PACKET_BARRIER = 5,		/* starts when all before it in the queue are complete */
	NPU_PACKET_COPY = 6,
	NPU_PACKET_TIMESTAMP = 7,
	NPU_PACKET_GRAPH = 8,
};

#define NPU_SEM_NONE		0xffffu

/* EXEC flags (header bits 31:16) */
#define NPU_EXEC_PROFILE	(1u << 0)	/* argument 31 is the profile area: MARK writes there */
#define NPU_EXEC_PREEMPT	(1u << 1)	/* argument 30 is the save area: see struct npu_save_state */
#define NPU_EXEC_FLAGS_ALL	0x3u

struct npu_packet_exec {
	__le32 header;
	__le32 task_id;
	__le64 program;		/* VA of struct npu_program_header, 64-byte aligned */
	__le64 arguments;	/* VA of __le64[argument_count], 64-byte aligned */
	__le64 record;		/* VA of struct npu_record, 64-byte aligned; 0: none */
	__le32 budget;		/* cycles / 1024, from start; 0 is malformed */
	__u8 argument_count;	/* 0..32 */
	__u8 reserved0;
	__le16 signal_sem;	/* += 1 at completion (also of a failed task); or NPU_SEM_NONE */
	__le16 wait_sem[2];	/* or NPU_SEM_NONE */
	__le32 reserved1;
	__le64 wait_value[2];
};

struct npu_packet_wait {
	__le32 header;
	__le16 sem[6];		/* or NPU_SEM_NONE */
	__le64 value[6];
};

struct npu_packet_signal {
	__le32 header;
	__le16 sem;
	__le16 reserved0;
	__le64 add;		/* 1.. */
	__u8 reserved1[48];
};

struct npu_packet_copy {
	__le32 header;
	__le32 task_id;
	__le64 destination;
	__le64 source;
	__le64 record;		/* or 0 */
	__le32 bytes;		/* 1..NPU_COPY_BYTES_MAX */
	__le16 signal_sem;
	__le16 reserved0;
	__u8 reserved1[24];
};

#define NPU_COPY_BYTES_MAX	0x80000000u

struct npu_packet_timestamp {
	__le32 header;
	__le32 reserved0;
	__le64 destination;	/* VA of a __le64, 8-byte aligned: device cycles */
	__u8 reserved1[48];
};

/*
 * GRAPH: runs `count` packets from `list` as if they stood in the ring (no phase
 * bit, no GRAPH inside). Thresholds and signals of semaphores listed in the packets
 * are relative to the values latched when the GRAPH packet starts. Before a packet
 * is used, each patch that names it replaces 8 bytes at `offset` of the copy by the
 * 64-bit `patches[i].value`.
 */
struct npu_packet_graph {
	__le32 header;
	__le32 task_id;
	__le64 list;
	__le64 patches;		/* VA of struct npu_graph_patch[patch_count], sorted by packet */
	__le32 count;		/* 1..NPU_GRAPH_PACKETS_MAX */
	__le32 patch_count;
	__le64 record;
	__u8 reserved[24];
};

struct npu_graph_patch {
	__le32 packet;
	__le32 offset;		/* 8-byte aligned, 8..56 */
	__le64 value;
};

#define NPU_GRAPH_PACKETS_MAX	65536

/* ------------------------------------------------------------ completion record */
enum npu_status {
	NPU_STATUS_NONE = 0,
	NPU_STATUS_DONE = 1,
	NPU_STATUS_FAULT = 2,		/* MMU fault, window violation, illegal instruction, token overflow */
	NPU_STATUS_BUDGET = 3,		/* the budget ran out */
	NPU_STATUS_KILLED = 4,		/* by firmware: watchdog, context or queue destroyed */
	NPU_STATUS_REJECTED = 5,	/* never started: see error */
};

/* One code space for records, fault records, ring errors and mailbox replies. */
enum npu_error {
	NPU_ERROR_NONE = 0,
	/* memory: detail = virtual address */
	NPU_ERROR_MMU_UNMAPPED = 1,
	NPU_ERROR_MMU_PERMISSION = 2,
	NPU_ERROR_MMU_ACCESSED_DIRTY = 3,	/* A=0, or D=0 on a write */
	NPU_ERROR_MMU_MALFORMED = 4,		/* reserved bits, misaligned leaf, bad address of a table */
	NPU_ERROR_VA_RANGE = 5,			/* not a canonical 39-bit address */
	NPU_ERROR_LOCAL_RANGE = 6,		/* detail = offset in local SRAM */
	NPU_ERROR_GLOBAL_RANGE = 7,		/* detail = offset in the window */
	NPU_ERROR_BUS = 8,			/* host memory behind a good mapping did not answer */
	NPU_ERROR_ECC = 9,			/* bits of local SRAM were lost; detail = offset */
	/* instructions: detail = offset of the instruction in the program */
	NPU_ERROR_ILLEGAL_INSTRUCTION = 16,
	NPU_ERROR_BAD_DESCRIPTOR = 17,
	NPU_ERROR_TOKEN_OVERFLOW = 18,
	NPU_ERROR_LOOP = 19,
	NPU_ERROR_PROGRAM_END = 20,		/* ran past the program's size */
	NPU_ERROR_ACCUMULATOR_RANGE = 21,
	NPU_ERROR_SAVED_STATE = 22,		/* of a preempted task: it was changed in its save area */
	/* command processor: detail = index of the packet */
	NPU_ERROR_BAD_PACKET = 32,
	NPU_ERROR_BAD_PROGRAM = 33,		/* header of the program refused */
	NPU_ERROR_NO_RESOURCES = 34,		/* more clusters or SRAM than the device has */
	NPU_ERROR_BUDGET = 35,
	NPU_ERROR_KILLED = 36,
	NPU_ERROR_BAD_SEMAPHORE = 37,
	NPU_ERROR_RING = 38,			/* the ring's own memory faulted */
	/* firmware and mailbox */
	NPU_ERROR_UNKNOWN_MESSAGE = 48,
	NPU_ERROR_BAD_ARGUMENT = 49,
	NPU_ERROR_NOT_FOUND = 50,
	NPU_ERROR_EXISTS = 51,
	NPU_ERROR_BUSY = 52,
	NPU_ERROR_VERSION = 53,
};

struct npu_record {
	__le32 task_id;
	__le16 status;		/* enum npu_status, written last of all fields */
	__le16 error;		/* enum npu_error */
	__le64 start;		/* device cycles: packet fetched, waits met, clusters granted */
	__le64 end;		/* device cycles: last cluster done */
	__le32 mac_cycles;	/* busy, summed over clusters */
	__le32 out_cycles;
	__le32 vector_cycles;
	__le32 dma_cycles;	/* busy, summed over channels */
	__le32 dram_read;	/* 64-byte bursts, instruction fetch included */
	__le32 dram_write;
	__le32 stall_token;	/* cycles engines' heads waited for a token, summed */
	__le32 stall_memory;	/* cycles lost to shared bandwidth, summed */
	__le64 detail;		/* of an error: see enum npu_error; bits 63:56 the cluster */
};

/* One MARK's entry in the profile area: index * clusters + cluster. */
struct npu_profile_mark {
	__le64 time;		/* device cycles - start */
};

/* ---------------------------------------------------------- kernel-owned memory */
/* What the tasks of a context have cost; the device adds a task when its record is written. */
struct npu_context_counters {
	__le64 mac_cycles;	/* as in struct npu_record, but never saturated */
	__le64 out_cycles;
	__le64 vector_cycles;
	__le64 dma_cycles;
	__le64 tasks;		/* EXEC and COPY packets that ended */
	__le64 reserved[3];
};

/* What a task did that was ended: struct npu_fault, access. */
enum npu_fault_access {
	NPU_FAULT_READ = 0,
	NPU_FAULT_WRITE = 1,
	NPU_FAULT_FETCH = 2,	/* of a program */
	NPU_FAULT_RING = 3,
	/* NPU_ERROR_BUDGET only: */
	NPU_FAULT_AT_WORK = 4,
	NPU_FAULT_TOKEN = 5,	/* nothing moved any more; address = the token it waited for */
	NPU_FAULT_BARRIER = 6,	/* nor here: other clusters of the gang do not come to the barrier */
};

/* Fault queue entry (host memory, kernel owned); phase as in rings. */
struct npu_fault {
	__le32 header;		/* bit 0 phase, [15:8] enum npu_error, [23:16] context, [31:24] queue */
	__le32 task_id;
	__le64 address;
	__le32 access;		/* enum npu_fault_access */
	__le32 cluster;		/* or 0xff: command processor */
	__le64 program_offset;	/* [31:0] of the instruction; [63:32] its first four bytes, 0: unknown */
};

/* Watch event (host memory, kernel owned). */
struct npu_event {
	__le32 header;		/* bit 0 phase, [15:8] kind: enum npu_event_kind, [31:16] context */
	__le32 sem;
	__le64 value;
};

enum npu_event_kind {
	NPU_EVENT_WATCH = 1,	/* an armed watch fired */
	NPU_EVENT_QUEUE_ERROR = 2,	/* sem = queue, value = enum npu_error */
};

/* Context table entry (host memory, kernel owned), read by CONTEXT_UPDATE. */
struct npu_context_entry {
	__le32 flags;		/* bit 0: valid */
	__le32 reserved0;
	__le64 page_table;	/* DMA address of the Sv39 root, 4 KiB aligned */
	__le64 semaphores;	/* DMA address of __le64[semaphores]: write-back area, 4 KiB aligned */
	__le64 thresholds;	/* DMA address of __le64[semaphores]: watch thresholds, 4 KiB aligned */
	__le64 counters;	/* DMA address of struct npu_context_counters, 64-byte aligned; or 0 */
	__u8 reserved1[24];
};

#define NPU_CONTEXT_VALID	1u

/* ------------------------------------------------------------------- programs */
/*
 * Program header, at the VA the EXEC packet names; the streams follow. Offsets are
 * from the header. The whole program is `bytes` long and must be readable and
 * executable by its context (Sv39 R and X).
 */
#define NPU_PROGRAM_MAGIC	0x4750554eu	/* "NUPG" */
#define NPU_PROGRAM_VERSION	1
#define NPU_PROGRAM_CLUSTERS_MAX 8

struct npu_program_header {
	__le32 magic;
	__le16 version;
	__u8 clusters;		/* 1..8 streams; needs that many clusters of the device */
	__u8 dma_channels;	/* channels a cluster it uses: 1 or 2 */
	__le32 bytes;
	__le32 local_bytes;	/* local SRAM used, from offset 0 */
	__le32 global_bytes;	/* window of global SRAM */
	__le32 save_bytes;	/* a cluster, of the save area; multiple of 64; 0: has no points */
	__le32 entry[NPU_PROGRAM_CLUSTERS_MAX];	/* offset of each stream, 16-byte aligned; 0 beyond clusters */
	__le64 reserved2;
};

/*
 * A point where a task can be taken off its clusters: a BARRIER or POINT whose imm32 is the offset,
 * in the program, of this table. What its ranges do not name is lost there.
 */
struct npu_point {
	__le32 count;		/* ranges that follow, 0..NPU_POINT_RANGES_MAX */
	__le32 flags;		/* NPU_POINT_* */
	__le32 resume;		/* offset of a stream to run first when the task comes back; 0: none */
	__le32 reserved;
};

#define NPU_POINT_WINDOW	(1u << 0)	/* the window has to be as it was left, all of it */
#define NPU_POINT_FLAGS_ALL	0x1u

struct npu_point_range {
	__le32 space;		/* NPU_SPACE_LOCAL, NPU_SPACE_GLOBAL: the window, NPU_POINT_SUMS */
	__le32 offset;
	__le32 bytes;		/* 1.. */
	__le32 reserved;
};

#define NPU_POINT_SUMS		3u	/* accumulators: the first half's bytes, then the second one's */

#define NPU_POINT_RANGES_MAX	32
#define NPU_POINT_BYTES_MAX	65536	/* of the ranges, a cluster */
#define NPU_POINT_ALIGN		16

/*
 * What the device writes at the start of a cluster's part of the save area, which is `save_bytes`
 * long; the ranges follow in their order, each from a multiple of 64 on.
 */
struct npu_save_state {
	__le32 point;		/* offset of struct npu_point in the program */
	__le32 offset;		/* of the next instruction */
	__le32 depth;		/* loops begun */
	__le32 reserved0;
	struct {
		__le32 body;	/* offset of its first instruction */
		__le32 left;	/* trips, the present one included */
	} loop[4];
	__u8 token[32];		/* the cluster's own */
	__u8 shared_token[32];	/* the gang's, in the first cluster's part only */
	__u8 reserved1[16];
	__u8 descriptor[64][32];
};

#define NPU_SAVE_ALIGN		64

#endif /* NPU_PACKET_H */
