/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Mailbox messages between the kernel (or libnpurt's `sim:` back end) and firmware.
 * Authority: Documentation/hardware/firmware.rst. One message at a time each way;
 * the reply repeats `sequence` and `kind`. Fields a message does not use are zero.
 */
#ifndef NPU_MAILBOX_H
#define NPU_MAILBOX_H

#include <linux/types.h>

#define NPU_MAILBOX_ABI_MAJOR	1
/* 1: SUSPEND, QUEUE_STATE, [6] to [8] of QUEUE_CREATE; 2: POWER; 3: CLOCK */
#define NPU_MAILBOX_ABI_MINOR	3

enum npu_message_kind {
	NPU_MESSAGE_HELLO = 1,		/* argument[0] = host's ABI major << 16 | minor;
					 * reply: [0] firmware's ABI, [1] oldest major it serves, [2] firmware version */
	NPU_MESSAGE_CONTEXT_CREATE = 2,	/* [0] context (its table entry is already updated) */
	NPU_MESSAGE_CONTEXT_DESTROY = 3,	/* [0] context: kills and destroys its queues, answers when nothing of it runs */
	NPU_MESSAGE_QUEUE_CREATE = 4,	/* [0] queue, [1] context, [2] ring VA low, [3] high, [4] log2 packets, [5] priority 0..15;
				 * where it goes on after a suspend: [6] index of its next packet low, [7] high,
				 * [8] enum npu_error that had stopped it */
	NPU_MESSAGE_QUEUE_DESTROY = 5,	/* [0] queue: its running task is killed */
	NPU_MESSAGE_PING = 6,
	NPU_MESSAGE_LOG_READ = 7,	/* [0] number of the first byte wanted, counted since boot (wraps); reply: [0] number
				 * of the byte after, [1] bytes, 0 at the end of the log, then up to 40 bytes of text.
				 * What was overwritten is skipped: next - bytes is where the text really starts */
	NPU_MESSAGE_ERROR_EVENT = 8,	/* firmware to host, sequence 0: [0] queue, [1] context, [2] enum npu_error */
	NPU_MESSAGE_PANIC = 9,	/* firmware to host, sequence 0, the last one, over whatever stood there:
				 * [0] enum npu_panic, [1] mcause, [2] mepc, [3] mtval */
	NPU_MESSAGE_SUSPEND = 10,	/* [0] microseconds that what has begun may take, 0: nothing may have begun.
				 * Takes all queues out of their slots, for good: a reset follows */
	NPU_MESSAGE_QUEUE_STATE = 11,	/* [0] queue; reply: [0] index of its next packet low, [1] high, [2] enum npu_error
				 * that stopped it, [3] NPU_QUEUE_PROGRESS_* */
	NPU_MESSAGE_POWER = 12,		/* [0] microseconds without work until the clusters
					 * sleep, 0: never, NPU_POWER_ASK: as before; reply: [0]
					 * that in force, [1] mask of clusters asleep */
	NPU_MESSAGE_CLOCK = 13,		/* [0] the fastest point of the clock, NPU_CLOCK_ASK: as
					 * before, [1] the slowest; reply: [0] and [1] those in
					 * force, [2] the point heat demands, [3] how often it has
					 * begun to demand one */
};

#define NPU_POWER_ASK	0xffffffffu
#define NPU_CLOCK_ASK	0xffffffffu

/* Why the firmware gave up; also what it writes to NPU_REG_CORE_PANIC. */
enum npu_panic {
	NPU_PANIC_TRAP = 1,	/* an exception: see mcause, mepc, mtval */
	NPU_PANIC_STACK = 2,	/* the stack left its area; [3] the stack pointer, where known */
	NPU_PANIC_HARDWARE = 3,	/* capability registers nobody can work with; [3] the register */
};

struct npu_message {
	__le16 kind;
	__le16 sequence;
	__le32 status;		/* reply: enum npu_error */
	__le32 argument[14];
};

/* The log in TCM, at the address in NPU_REG_CORE_LOG, for those who can read TCM. */
#define NPU_LOG_MAGIC	0x4c55504eu	/* "NPUL" */

struct npu_log_ring {
	__le32 magic;
	__le32 bytes;		/* of text, a power of two; byte number n is at n mod bytes */
	__le32 end;		/* bytes written since boot, wraps */
	__le32 full;		/* not 0 once all of the text is valid */
	/* text follows: lines, each ended by '\n' */
};

#endif /* NPU_MAILBOX_H */
